// The trainable parameters in a scope, at any depth.

import type { GraphNode } from '../api/types';
import { NONE, type GraphIndex } from './graph_index';
import { nodeOf } from './scope_view';

export interface Parameters {
  // The first ones, in display order.
  nodes: GraphNode[];
  count: number;
  elements: number;
}

export function parametersOf(index: GraphIndex, scope: string, limit: number): Parameters {
  const found: Parameters = { nodes: [], count: 0, elements: 0 };
  const visit = (item: number) => {
    if (index.isScope(item)) {
      for (const child of index.childrenOf(item)) visit(child);
      return;
    }
    if (index.kind(item) !== 'parameter') return;
    const node = nodeOf(index, item, null);
    found.count += 1;
    found.elements += (node.outputs[0]?.shape ?? []).reduce((product, size) => product * size, 1);
    if (found.nodes.length < limit) found.nodes.push(node);
  };
  const item = index.find(scope);
  if (item !== NONE) visit(item);
  return found;
}
