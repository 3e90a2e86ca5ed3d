import { expect, it } from 'vitest';
import { againstOf } from './compare_side';

it('is the nearest saved step before, where a recorded run is compared with the previous step', () => {
  expect(againstOf(null, [10, 30])).toEqual({ kind: 'step', value: '10' });
  expect(againstOf('step:30', [10, 30])).toEqual({ kind: 'step', value: '30' });
  expect(againstOf(null, [])).toEqual({ kind: 'step', value: '' });
});

it('is the previous step of a job', () => {
  expect(againstOf(null, null)).toEqual({ kind: 'previous', value: '' });
  expect(againstOf('rank:2', null)).toEqual({ kind: 'rank', value: '2' });
});
