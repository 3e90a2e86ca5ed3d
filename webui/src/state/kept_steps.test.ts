import { expect, it } from 'vitest';
import { stepOf, stepsToCompare } from './kept_steps';

it('values are compared only with steps that the job may still have', () => {
  expect(stepsToCompare({ step: null }, 7)).toEqual([6]);
  expect(stepsToCompare({ step: 'previous' }, 7)).toEqual([7]);
  expect(stepsToCompare({ step: '6' }, 7)).toEqual([7]);
  // There is nothing before the first step.
  expect(stepsToCompare({ step: null }, 0)).toEqual([]);
});

it('current and previous values have a step', () => {
  expect([null, 'current', 'previous', '3'].map((step) => stepOf(step, 7))).toEqual([7, 7, 6, 3]);
});
