import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { api } from './client';
import { http } from './http';
import { Problem } from './problem';
import { tokenStore } from './token';

const fetched = vi.fn<typeof fetch>();

beforeEach(() => {
  fetched.mockReset();
  vi.stubGlobal('fetch', fetched);
});
afterEach(() => {
  vi.unstubAllGlobals();
  tokenStore.write(null);
});

function answer(status: number, body: unknown): void {
  fetched.mockResolvedValue(new Response(JSON.stringify(body), { status }));
}

describe('requests', () => {
  it('carry the token, and names with slashes and blanks as they are', async () => {
    tokenStore.write('secret');
    answer(200, { scope: '', nodes: [], edges: [] });
    await api.scope('job 1/x', null, 'forward/a b&c');
    const [address, options] = fetched.mock.calls[0] ?? [];
    expect(address).toBe('/api/v1/jobs/job%201%2Fx/graph/scope?name=forward%2Fa+b%26c');
    expect(options?.headers).toMatchObject({ Authorization: 'Bearer secret' });
  });

  it('leave out what is not given', async () => {
    answer(200, { points: [] });
    await api.statistics('j', { name: 'a:0', rank: 0, step: null });
    expect(fetched.mock.calls[0]?.[0]).toBe('/api/v1/jobs/j/tensor/statistics?name=a%3A0&rank=0');
  });

  it('get a value that is gone without an HTTP error, and still fail', async () => {
    const problem = { status: 404, code: 'value_gone', title: 'Not Found', detail: 'it is gone' };
    const headers = { 'Content-Type': 'application/problem+json' };
    fetched.mockResolvedValue(new Response(JSON.stringify(problem), { status: 200, headers }));
    const request = api.slice('j', { name: 'a:0', rank: 0, step: null, slice: '[:2]' });
    await expect(request).rejects.toMatchObject({ status: 404, code: 'value_gone', detail: 'it is gone' });
    expect(fetched.mock.calls[0]?.[1]?.headers).toMatchObject({ Prefer: 'gone=200' });
  });

  it('for a slice read bytes, and what the headers say of them', async () => {
    const headers = {
      'X-Graphdbg-Dtype': 'float32',
      'X-Graphdbg-Shape': '2,1',
      'X-Graphdbg-Step': '7',
      'X-Graphdbg-Overwritten': 'true',
      'X-Graphdbg-Grad-Scale': '1024',
    };
    fetched.mockResolvedValue(new Response(new Float32Array([1.5, NaN]).buffer, { headers }));
    const slice = await api.slice('j', { name: 'a:0', rank: 0, step: null, slice: '[:2]' });
    expect(fetched.mock.calls[0]?.[1]?.headers).toMatchObject({ Accept: 'application/octet-stream' });
    expect(slice).toMatchObject({ shape: [2, 1], step: 7, overwritten: true, grad_scale: 1024 });
    expect([...(slice.elements?.numbers ?? [])]).toEqual([1.5, NaN]);
  });

  it('for a scalar know that it has no axes', async () => {
    const headers = { 'X-Graphdbg-Dtype': 'bool', 'X-Graphdbg-Shape': '', 'X-Graphdbg-Step': '1' };
    fetched.mockResolvedValue(new Response(new Uint8Array([1]).buffer, { headers }));
    const slice = await api.slice('j', { name: 'a:0', rank: 0, step: null, slice: '[]' });
    expect(slice).toMatchObject({ shape: [], grad_scale: null, overwritten: false });
  });
});

describe('refusals', () => {
  it('become problems with code, detail and field', async () => {
    answer(422, { title: 'Bad', detail: 'no such axis', code: 'bad_slice', field: 'slice' });
    await expect(api.jobs()).rejects.toMatchObject({
      status: 422,
      code: 'bad_slice',
      message: 'no such axis',
      field: 'slice',
    });
  });

  it('without a document still say something', async () => {
    fetched.mockResolvedValue(new Response('<html>', { status: 502, statusText: 'Bad Gateway' }));
    await expect(api.jobs()).rejects.toMatchObject({ code: 'http_502', message: 'Bad Gateway' });
  });

  it('for want of a token ask for a login', async () => {
    const asked = vi.fn();
    http.onUnauthorized = asked;
    answer(401, { code: 'unauthorized' });
    await expect(api.jobs()).rejects.toBeInstanceOf(Problem);
    expect(asked).toHaveBeenCalledOnce();
  });

  it('of the network are problems too', async () => {
    fetched.mockRejectedValue(new TypeError('failed'));
    await expect(api.jobs()).rejects.toMatchObject({ status: 0, code: 'unreachable' });
  });
});
