import { afterEach, expect, it, vi } from 'vitest';
import { splitCode, tokenStore } from './token';

afterEach(() => tokenStore.write(null));

it.each([
  ['#code=abc', 'abc', ''],
  ['#/jobs/x', null, '#/jobs/x'],
  ['#/jobs/x?code=a%2Bb', 'a+b', '#/jobs/x'],
  ['#/jobs/x?code=abc&node=forward/log', 'abc', '#/jobs/x?node=forward/log'],
  ['', null, ''],
])('takes the code out of "%s"', (fragment, code, rest) =>
  expect(splitCode(fragment)).toEqual({ code, rest }),
);

it('keeps a token and drops it', () => {
  tokenStore.write('t');
  expect(tokenStore.read()).toBe('t');
  tokenStore.write(null);
  expect(tokenStore.read()).toBeNull();
});

it('keeps a token in the session of the tab only', () => {
  tokenStore.write('secret');
  expect(Object.values({ ...sessionStorage })).toEqual(['secret']);
  expect(JSON.stringify({ ...localStorage })).not.toContain('secret');
});

it('carries a token over a reload where storage is blocked, as in a frame of another site', async () => {
  const blocked = vi.spyOn(window, 'sessionStorage', 'get').mockImplementation(() => {
    throw new DOMException('Access is denied for this document.', 'SecurityError');
  });
  window.history.replaceState({ other: 1 }, '');
  tokenStore.write('secret');
  window.dispatchEvent(new Event('beforeunload'));
  vi.resetModules();
  const reloaded = (await import('./token')).tokenStore;
  expect(reloaded.read()).toBe('secret');
  expect(window.history.state).toEqual({ other: 1 });
  blocked.mockRestore();
});

it('does not carry a token that the tab has stored', () => {
  tokenStore.write('secret');
  window.dispatchEvent(new Event('beforeunload'));
  expect(JSON.stringify(window.history.state)).not.toContain('secret');
});
