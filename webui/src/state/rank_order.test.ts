import { expect, it } from 'vitest';
import type { Rank } from '../api/types';
import { outliersFirst, shares } from './rank_order';

const rank = (number: number, change: Partial<Rank> = {}): Rank => ({
  rank: number,
  host: 'h',
  pid: number,
  peer: '',
  device: 'cpu',
  device_id: 0,
  state: 'running',
  step: 10,
  node: '',
  ...change,
});

it('shows ranks that differ first: by state, then step, then hits', () => {
  const ranks = Array.from({ length: 6 }, (_, number) => rank(number));
  ranks[5] = rank(5, { state: 'lost' });
  ranks[3] = rank(3, { step: 7 });
  const order = outliersFirst(ranks, new Map([[4, 2]]));
  expect(order.map((each) => each.rank)).toEqual([5, 3, 4, 0, 1, 2]);
});

it('spreads values from the least to the most', () => {
  const ranks = [rank(0, { step: 4 }), rank(1, { step: 5 }), rank(2, { step: 6 })];
  expect([...shares(ranks, ({ step }) => step).values()]).toEqual([0, 0.5, 1]);
  expect(shares([rank(0), rank(1)], ({ step }) => step).size).toBe(0);
});
