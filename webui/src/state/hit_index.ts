// How many hits each node and each scope around it has.

import type { Hit } from '../api/types';
import { ancestorsOf } from '../base/names';

export interface HitIndex {
  hits: readonly Hit[];
  counts: ReadonlyMap<string, number>;
}

export const NO_HITS: HitIndex = { hits: [], counts: new Map() };

// Hits mostly come at the end of those that are known: then only they are counted.
export function indexHits(hits: readonly Hit[], known: HitIndex = NO_HITS): HitIndex {
  if (hits === known.hits) return known;
  const { length } = known.hits;
  const grown =
    length > 0 && hits[0] === known.hits[0] && hits[length - 1] === known.hits[length - 1];
  const counts = new Map(grown ? known.counts : []);
  const add = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const hit of grown ? hits.slice(length) : hits) {
    add(hit.node);
    for (const scope of ancestorsOf(hit.node)) add(scope);
  }
  return { hits, counts };
}

export function countByWatchpoint(hits: readonly Hit[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { watchpoint } of hits) counts.set(watchpoint, (counts.get(watchpoint) ?? 0) + 1);
  return counts;
}

const NOT_FINITE = new Set(['nan', 'inf', 'overflow', 'tensor_overflow', 'weight_overflow', 'operator_overflow']);

// The way of what is not finite in the newest step that has any: by node, and by every
// scope around it, whether it began there.
export function indexTrail(hits: readonly Hit[]): ReadonlyMap<string, 'origin' | 'propagated'> {
  const trail = new Map<string, 'origin' | 'propagated'>();
  const found = hits.filter((hit) => NOT_FINITE.has(hit.condition) && hit.origin !== 'unknown');
  const step = found.reduce((newest, hit) => Math.max(newest, hit.step), -1);
  for (const hit of found) {
    if (hit.step !== step) continue;
    for (const name of [hit.node, ...ancestorsOf(hit.node)]) {
      if (hit.origin === 'origin' || !trail.has(name)) trail.set(name, hit.origin as 'origin' | 'propagated');
    }
  }
  return trail;
}
