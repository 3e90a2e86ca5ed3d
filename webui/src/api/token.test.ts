import { afterEach, expect, it } from 'vitest';
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
