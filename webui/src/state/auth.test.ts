import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { http } from '../api/http';
import { tokenStore } from '../api/token';
import { checkAuth, logIn, startAuth, useAuth } from './auth';

const INITIAL = useAuth.getState();
const SERVER = { name: 'graphdbg', version: '1', http_address: '', debugger_address: '' };
const fetched = vi.fn<typeof fetch>();

// The server accepts this token, and this code once.
let valid: string | null;
let code: string | null;

function refusal(): Response {
  return Response.json({ code: 'unauthorized', detail: 'no' }, { status: 401 });
}

async function answer(request: RequestInfo | URL, options?: RequestInit): Promise<Response> {
  const path = String(request).replace('/api/v1', '');
  if (path === '/login') {
    const sent = JSON.parse(String(options?.body)) as { code: string };
    if (sent.code !== code) return refusal();
    code = null;
    return Response.json({ token: valid });
  }
  const headers = new Headers(options?.headers);
  if (headers.get('Authorization') !== `Bearer ${valid}`) return refusal();
  return Response.json(path === '/session' ? { name: 'alice', role: 'control', expires_at: null } : SERVER);
}

beforeEach(() => {
  valid = 'right';
  code = 'fresh';
  fetched.mockReset().mockImplementation(answer);
  vi.stubGlobal('fetch', fetched);
  window.location.hash = '';
  useAuth.setState(INITIAL, true);
  tokenStore.write(null);
});
afterEach(() => {
  vi.unstubAllGlobals();
  tokenStore.write(null);
});

const settled = () => vi.waitFor(() => expect(useAuth.getState().session?.name).toBe('alice'));

describe('an address', () => {
  it('with a fresh code starts a session in the role of the code', async () => {
    window.location.hash = '#/jobs/x?code=fresh';
    await startAuth();
    await settled();
    expect(useAuth.getState()).toMatchObject({ status: 'ok', session: { role: 'control' } });
    expect(window.location.hash).toBe('#/jobs/x');
  });

  it('that was used before is named as the reason for signing in', async () => {
    window.location.hash = '#code=old';
    await startAuth();
    expect(useAuth.getState()).toMatchObject({ status: 'needed', reason: 'code_refused', entered: false, message: null });
  });

  it('can be entered in the form', async () => {
    await checkAuth();
    await logIn('http://127.0.0.1:8080/#code=fresh');
    await settled();
    expect(useAuth.getState().status).toBe('ok');
  });
});

describe('a session', () => {
  it('that ends later is recognized by a refused request, and its token is dropped', async () => {
    await startAuth();
    await logIn('right');
    await settled();
    valid = 'other';
    await expect(http.json('/jobs')).rejects.toMatchObject({ status: 401 });
    expect(useAuth.getState()).toMatchObject({ status: 'needed', reason: 'session_ended', entered: true });
    expect(tokenStore.read()).toBeNull();
  });

  it('is not ended by the late refusal of an earlier token', async () => {
    await startAuth();
    await logIn('right');
    await settled();
    http.onUnauthorized('an earlier token');
    expect(useAuth.getState().status).toBe('ok');
  });

  it('is shared with a tab that has none', async () => {
    const other = new BroadcastChannel('graphdbg.token');
    other.addEventListener('message', ({ data }: MessageEvent<{ type: string }>) => {
      if (data.type === 'request') other.postMessage({ type: 'answer', token: 'right' });
    });
    await checkAuth();
    other.close();
    expect(useAuth.getState().status).toBe('ok');
    expect(tokenStore.read()).toBe('right');
  });
});

it('a wrong token is not kept', async () => {
  await checkAuth();
  await logIn('wrong');
  expect(useAuth.getState()).toMatchObject({ status: 'needed', message: 'Invalid token.' });
  expect(tokenStore.read()).toBeNull();
});
