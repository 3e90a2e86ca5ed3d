import { expect, it } from 'vitest';
import { readToken, takeCode, writeToken } from './token';

it.each([
  ['#code=abc', 'abc', ''],
  ['#/jobs/x', null, '#/jobs/x'],
  ['#/jobs/x?code=a%2Bb', 'a+b', '#/jobs/x'],
  ['#/jobs/x?code=abc&node=forward/log', 'abc', '#/jobs/x?node=forward/log'],
  ['', null, ''],
])('takes the code out of "%s"', (fragment, code, rest) =>
  expect(takeCode(fragment)).toEqual({ code, rest }),
);

it('keeps a token and drops it', () => {
  writeToken('t');
  expect(readToken()).toBe('t');
  writeToken(null);
  expect(readToken()).toBeNull();
});
