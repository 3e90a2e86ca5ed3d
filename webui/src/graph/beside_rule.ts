// Decides which nodes are placed beside another one: parameters, buffers and constants that are read
// by exactly one op of their scope. Nodes with notes need space below them and get a place in a row.

import type { GraphNode } from '../api/types';

const STACKED_KINDS = new Set<GraphNode['kind']>(['parameter', 'buffer', 'constant']);
// A taller stack would hide the flow next to it.
const MAX_STACK = 8;

// Returns, by node, the node beside which it is placed, or -1.
export function besideOf(
  nodes: readonly GraphNode[],
  edges: ReadonlyArray<readonly [number, number]>,
): Int32Array {
  const reader = new Int32Array(nodes.length).fill(-1);
  const ruledOut = new Uint8Array(nodes.length);
  for (const [from, to] of edges) {
    if (reader[from] !== -1 && reader[from] !== to) ruledOut[from] = 1;
    reader[from] = to;
    ruledOut[to] = 1;
  }
  const stacked = new Int32Array(nodes.length);
  const beside = new Int32Array(nodes.length).fill(-1);
  nodes.forEach((node, i) => {
    const to = reader[i] as number;
    if (!STACKED_KINDS.has(node.kind) || node.notes !== undefined || ruledOut[i] || to < 0 || nodes[to]?.kind !== 'op') return;
    if ((stacked[to] as number) >= MAX_STACK) return;
    stacked[to] = (stacked[to] as number) + 1;
    beside[i] = to;
  });
  return beside;
}
