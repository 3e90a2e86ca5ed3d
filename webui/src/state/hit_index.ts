// How many hits each node and each scope around it has.

import type { Hit } from '../api/types';
import { ancestorsOf } from '../base/names';

export function indexHits(hits: readonly Hit[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const add = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const hit of hits) {
    add(hit.node);
    for (const scope of ancestorsOf(hit.node)) add(scope);
  }
  return counts;
}

export function countByWatchpoint(hits: readonly Hit[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { watchpoint } of hits) counts.set(watchpoint, (counts.get(watchpoint) ?? 0) + 1);
  return counts;
}
