import { expect, it } from 'vitest';
import { repeatsIn } from './repeats';

const all = () => true;

it('finds runs of patterns of one length, from left to right', () => {
  expect(repeatsIn([1, 2, 3, 2, 3, 2, 3, 4], 2, all)).toEqual([{ at: 1, period: 2, times: 3 }]);
  expect(repeatsIn([5, 5, 5, 1, 2, 2], 1, all)).toEqual([
    { at: 0, period: 1, times: 3 },
    { at: 4, period: 1, times: 2 },
  ]);
  expect(repeatsIn([1, 2, 3], 1, all)).toEqual([]);
});

it('continues behind a run that is not wanted', () => {
  expect(repeatsIn([7, 7, 7, 8, 8, 8, 8], 1, ({ times }) => times > 3)).toEqual([{ at: 3, period: 1, times: 4 }]);
});
