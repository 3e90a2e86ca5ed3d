// Which of many ranks differ from the others, so that they are shown first.

import type { Rank } from '../api/types';

export type RankColour = 'state' | 'step' | 'hits';
export const RANK_COLOURS: readonly RankColour[] = ['state', 'step', 'hits'];

function mostFrequent<T>(values: readonly T[]): T | undefined {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  let best: T | undefined;
  for (const [value, count] of counts) {
    if (best === undefined || count > (counts.get(best) ?? 0)) best = value;
  }
  return best;
}

// Sorts ranks by how much they differ from most: first in state, then in step, then by hits.
export function outliersFirst(ranks: readonly Rank[], hits: ReadonlyMap<number, number>): Rank[] {
  const state = mostFrequent(ranks.map((rank) => rank.state));
  const step = mostFrequent(ranks.map((rank) => rank.step)) ?? 0;
  const key = (rank: Rank) => [
    rank.state === state ? 0 : 1,
    Math.abs(rank.step - step),
    hits.get(rank.rank) ?? 0,
  ];
  const keys = new Map(ranks.map((rank) => [rank.rank, key(rank)]));
  return [...ranks].sort((a, b) => {
    const [first, second] = [keys.get(a.rank) ?? [], keys.get(b.rank) ?? []];
    const at = first.findIndex((value, index) => value !== second[index]);
    return at < 0 ? a.rank - b.rank : (second[at] ?? 0) - (first[at] ?? 0);
  });
}

// How far each rank is between the least and the most of all, from 0 to 1. Empty if all are the same.
export function shares(ranks: readonly Rank[], valueOf: (rank: Rank) => number): ReadonlyMap<number, number> {
  const values = ranks.map(valueOf);
  const least = values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!(most > least)) return new Map();
  return new Map(ranks.map((rank, index) => [rank.rank, ((values[index] ?? least) - least) / (most - least)]));
}
