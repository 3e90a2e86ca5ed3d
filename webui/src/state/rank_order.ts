// How the ranks of a large job are coloured in a grid, and which of them stand out. Pure functions.

import type { Rank } from '../api/types';

export const COLOURINGS = ['state', 'step', 'hits', 'norm'] as const;
export type Colouring = (typeof COLOURINGS)[number];

export interface RankCell {
  rank: Rank;
  hits: number;
  // By which ranks are coloured; null where it is not known, and for states.
  value: number | null;
  // Its place between the least and the greatest finite value, 0 to 1.
  share: number | null;
  // How far it is from what ranks usually have; 0: not at all. Infinite where no number says it.
  distance: number;
}

const median = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length / 2)] ?? 0;

function valueOf(rank: Rank, hits: number, norms: ReadonlyMap<number, number>, by: Colouring): number | null {
  switch (by) {
    case 'step':
      return rank.step;
    case 'hits':
      return hits;
    case 'norm':
      return norms.get(rank.rank) ?? null;
    default:
      return null;
  }
}

function usualState(ranks: readonly Rank[]): Rank['state'] | null {
  const counts = new Map<Rank['state'], number>();
  for (const { state } of ranks) counts.set(state, (counts.get(state) ?? 0) + 1);
  let usual: Rank['state'] | null = null;
  for (const [state, count] of counts) if (usual === null || count > (counts.get(usual) ?? 0)) usual = state;
  return usual;
}

// In units of the usual distance from the median, so that one rank far away does not hide others.
function distances(values: ReadonlyArray<number | null>): number[] {
  const known = values.filter((value) => value !== null && Number.isFinite(value)).toSorted((a, b) => a! - b!) as number[];
  const middle = median(known);
  const spread = median(known.map((value) => Math.abs(value - middle)).toSorted((a, b) => a - b));
  return values.map((value) => {
    if (value === null) return 0;
    if (!Number.isFinite(value)) return Infinity;
    const away = Math.abs(value - middle);
    if (away === 0) return 0;
    return spread === 0 ? away / (Math.abs(middle) + Number.MIN_VALUE) + 1 : away / spread;
  });
}

// In the order of ranks. `norms` are needed for that colouring only, by rank.
export function cellsOf(
  ranks: readonly Rank[],
  hits: ReadonlyMap<number, number>,
  norms: ReadonlyMap<number, number>,
  by: Colouring,
): RankCell[] {
  const usual = usualState(ranks);
  const values = ranks.map((rank) => valueOf(rank, hits.get(rank.rank) ?? 0, norms, by));
  let least = Infinity;
  let most = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const away = distances(values);
  return ranks.map((rank, i) => {
    const value = values[i] ?? null;
    const finite = value !== null && Number.isFinite(value);
    return {
      rank,
      hits: hits.get(rank.rank) ?? 0,
      value,
      share: finite ? (most > least ? (value - least) / (most - least) : 0) : null,
      distance: by === 'state' ? (rank.state === usual ? 0 : Infinity) : (away[i] ?? 0),
    };
  });
}

// What is worth a look comes first: ranks that are lost, those with hits, those far from the others.
export function outliersFirst(cells: readonly RankCell[]): RankCell[] {
  const urgency = ({ rank, hits }: RankCell) => (rank.state === 'lost' ? 2 : 0) + (hits > 0 ? 1 : 0);
  return cells.toSorted(
    (a, b) =>
      urgency(b) - urgency(a) || (a.distance === b.distance ? 0 : b.distance - a.distance) || a.rank.rank - b.rank.rank,
  );
}
