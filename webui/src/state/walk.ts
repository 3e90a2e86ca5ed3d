// From node to node: along tensors, and in the order of execution.

import type { NodeDetail } from '../api/types';
import { NONE, type GraphIndex } from '../index/graph_index';

// The op that executes so many places after this one; of a scope, after its first
// (or before it). Null: there is none, or the graph is not known as a whole.
export function executedNear(index: GraphIndex | null, name: string, by: 1 | -1): string | null {
  const execution = index?.arrays.columns['execution'];
  if (index === null || execution === undefined) return null;
  const item = index.find(name);
  if (item === NONE) return null;
  const at = execution.findIndex((node) => node + index.scopeCount === item || isBelow(index, node, item));
  if (at < 0) return null;
  const next = execution[index.isScope(item) && by > 0 ? at : at + by];
  return next === undefined ? null : index.name(next + index.scopeCount);
}

function isBelow(index: GraphIndex, node: number, scope: number): boolean {
  if (!index.isScope(scope)) return false;
  for (let at = index.parent(node + index.scopeCount); at !== 0; at = index.parent(at)) {
    if (at === scope) return true;
  }
  return false;
}

// What the node reads, or who reads it; the first that is not the one just left, so
// that going back and forth does not lose the way.
export function alongTensors(detail: NodeDetail, towards: 'producer' | 'consumer'): string | null {
  const ends = towards === 'producer' ? detail.inputs : detail.consumers;
  return ends[0]?.node ?? null;
}
