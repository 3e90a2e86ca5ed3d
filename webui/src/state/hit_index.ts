// Number of hits of each node, without absorbed ones, and of each scope and aggregate that contains it.

import type { Hit } from '../api/types';
import { ancestorsOf } from '../base/names';
import type { Folds } from '../index/folds';

export interface HitIndex {
  hits: readonly Hit[];
  // Null while the graph has no index.
  folds: Folds | null;
  counts: ReadonlyMap<string, number>;
}

export const NO_HITS: HitIndex = { hits: [], folds: null, counts: new Map() };

const containersOf = (node: string, folds: Folds | null) => [...ancestorsOf(node), ...(folds?.over(node) ?? [])];

// Counts hits. Hits are usually appended to the known ones; then only the new ones are counted.
export function indexHits(hits: readonly Hit[], folds: Folds | null = null, known: HitIndex = NO_HITS): HitIndex {
  if (hits === known.hits && folds === known.folds) return known;
  const { length } = known.hits;
  const grown =
    folds === known.folds && length > 0 && hits[0] === known.hits[0] && hits[length - 1] === known.hits[length - 1];
  const counts = new Map(grown ? known.counts : []);
  const add = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const hit of grown ? hits.slice(length) : hits) {
    if (hit.absorbed) continue;
    add(hit.node);
    for (const scope of containersOf(hit.node, folds)) add(scope);
  }
  return { hits, folds, counts };
}

export function countByWatchpoint(hits: readonly Hit[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { watchpoint, absorbed } of hits) if (!absorbed) counts.set(watchpoint, (counts.get(watchpoint) ?? 0) + 1);
  return counts;
}

const NOT_FINITE = new Set(['nan', 'inf', 'overflow', 'tensor_overflow', 'weight_overflow', 'operator_overflow']);

// Traces NaN and infinities in the newest step that has any. Returns, by node and by each scope and
// aggregate that contains it, whether they started there or were propagated.
export function indexTrail(hits: readonly Hit[], folds: Folds | null = null): ReadonlyMap<string, 'origin' | 'propagated'> {
  const trail = new Map<string, 'origin' | 'propagated'>();
  const found = hits.filter((hit) => NOT_FINITE.has(hit.condition) && !hit.absorbed && hit.origin !== 'unknown');
  const step = found.reduce((newest, hit) => Math.max(newest, hit.step), -1);
  for (const hit of found) {
    if (hit.step !== step) continue;
    for (const name of [hit.node, ...containersOf(hit.node, folds)]) {
      if (hit.origin === 'origin' || !trail.has(name)) trail.set(name, hit.origin as 'origin' | 'propagated');
    }
  }
  return trail;
}
