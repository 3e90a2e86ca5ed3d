// What a scope contains: its ops by type, and the nodes whose outputs leave it.

import type { GraphIndex } from './graph_index';
import { NONE } from './graph_index';

// Calls `visit` for each node in the scope, at any depth, in display order.
export function visitNodes(index: GraphIndex, scope: number, visit: (item: number) => void): void {
  for (const child of index.childrenOf(scope)) {
    if (index.isScope(child)) visitNodes(index, child, visit);
    else visit(child);
  }
}

// The types of the ops in a scope with their numbers, the most frequent first.
export function opTypesOf(index: GraphIndex, scope: string): Array<[type: string, count: number]> {
  const counts = new Map<string, number>();
  const at = index.findScope(scope);
  if (at === NONE) return [];
  visitNodes(index, at, (item) => {
    if (index.kind(item) !== 'op') return;
    const type = index.opType(item);
    counts.set(type, (counts.get(type) ?? 0) + 1);
  });
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

// The scope just below the top that contains each item: forward, backward or optimizer.
function phaseOf(index: GraphIndex, item: number): number {
  let at = item;
  while (index.parent(at) !== 0) at = index.parent(at);
  return at;
}

// The ops of a scope whose outputs are read outside, but in the same phase: the backward pass reads
// most of the forward pass. In display order.
export function outputsOf(index: GraphIndex, scope: string): string[] {
  const at = index.findScope(scope);
  if (at === NONE || at === 0) return [];
  const inside = new Set<number>();
  visitNodes(index, at, (item) => inside.add(item));
  const phase = phaseOf(index, at);
  const read = new Set<number>();
  let edge = 0;
  for (let node = 0; node < index.nodeCount; node += 1) {
    const to = node + index.scopeCount;
    const end = index.edgeEnd[node] as number;
    if (inside.has(to)) {
      edge = end;
      continue;
    }
    for (; edge < end; edge += 1) {
      const from = ((node - (index.edgeBack[edge] as number)) >>> 0) + index.scopeCount;
      if (inside.has(from) && index.kind(from) === 'op' && phaseOf(index, to) === phase) read.add(from);
    }
  }
  return [...inside].filter((item) => read.has(item)).map((item) => index.name(item));
}
