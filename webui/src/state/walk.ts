// Navigation between nodes: along tensors and in execution order.

import type { NodeDetail } from '../api/types';
import { NONE, type GraphIndex } from '../index/graph_index';

// Returns the op that executes directly after or before a node. For a scope, `by` is relative to its
// first op. Null if there is none or if the graph has no index.
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

// Returns the first producer or consumer of a node, or null.
export function alongTensors(detail: NodeDetail, towards: 'producer' | 'consumer'): string | null {
  const ends = towards === 'producer' ? detail.inputs : detail.consumers;
  return ends[0]?.node ?? null;
}
