import { UNREACHABLE } from './problem';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { api } from './client';
import { earlyServerRequest } from './early';
import { tokenStore } from './token';

const INFO = { version: '1.2.3' };
const requests: Request[] = [];

beforeEach(() => {
  requests.length = 0;
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
    requests.push(new Request(new URL(path, 'http://page'), init));
    return Response.json(INFO);
  });
});

afterEach(() => {
  tokenStore.write(null);
  vi.unstubAllGlobals();
});

test('the early answer is taken once, then the server is asked again', async () => {
  tokenStore.write('secret');
  earlyServerRequest.send();
  expect(await api.server()).toEqual(INFO);
  expect(requests).toHaveLength(1);
  expect(requests[0]?.headers.get('Authorization')).toBe('Bearer secret');
  await api.server();
  expect(requests).toHaveLength(2);
});

test('an early question that fails is as any other that does', async () => {
  vi.stubGlobal('fetch', async () => {
    throw new TypeError('refused');
  });
  earlyServerRequest.send();
  await expect(api.server()).rejects.toMatchObject({ status: 0, code: UNREACHABLE });
});
