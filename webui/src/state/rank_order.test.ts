import { describe, expect, it } from 'vitest';
import type { Rank } from '../api/types';
import { cellsOf, outliersFirst, type Colouring } from './rank_order';

const NONE = new Map<number, number>();

function ranks(count: number, change: (rank: number) => Partial<Rank> = () => ({})): Rank[] {
  return Array.from({ length: count }, (_, rank) => ({ rank, state: 'running', step: 100, node: '', ...change(rank) }) as Rank);
}

const first = (of: Rank[], by: Colouring, hits = NONE, norms = NONE) =>
  outliersFirst(cellsOf(of, hits, norms, by)).map(({ rank }) => rank.rank);

describe('outliersFirst', () => {
  it('puts lost ranks first, then those with hits', () => {
    const job = ranks(1024, (rank) => (rank === 700 ? { state: 'lost' } : {}));
    expect(first(job, 'step', new Map([[31, 2]])).slice(0, 3)).toEqual([700, 31, 0]);
  });

  it('finds the state that differs from the others', () => {
    const job = ranks(64, (rank) => ({ state: rank === 9 ? 'running' : 'paused' }));
    expect(first(job, 'state')[0]).toBe(9);
  });

  it('finds the rank that is behind, though others differ a little', () => {
    const job = ranks(256, (rank) => ({ step: rank === 200 ? 40 : 100 + (rank % 3) }));
    expect(first(job, 'step')[0]).toBe(200);
  });

  it('finds the norm that is not finite, then the one far away', () => {
    const norms = new Map(ranks(64).map(({ rank }) => [rank, 1 + rank / 1000]));
    norms.set(5, NaN);
    norms.set(6, 80);
    expect(first(ranks(64), 'norm', NONE, norms).slice(0, 2)).toEqual([5, 6]);
  });

  it('keeps the order of ranks where none stands out', () => {
    expect(first(ranks(4), 'step')).toEqual([0, 1, 2, 3]);
  });
});

describe('cellsOf', () => {
  it('places values between the least and the greatest', () => {
    const job = ranks(3, (rank) => ({ step: 10 * rank }));
    expect(cellsOf(job, NONE, NONE, 'step').map(({ share }) => share)).toEqual([0, 0.5, 1]);
  });

  it('has no place for what is not known', () => {
    expect(cellsOf(ranks(2), NONE, new Map([[1, 3]]), 'norm').map(({ share }) => share)).toEqual([null, 0]);
  });
});
