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
