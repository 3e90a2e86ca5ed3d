// The inputs and outputs of a whole model.

import type { GraphIndex } from './graph_index';
import { nodeOf } from './scope_view';

export interface Port {
  node: string;
  slot: number;
  dtype: string;
  shape: number[];
  // Shown instead of the name.
  title?: string | undefined;
}

export function portOf(index: GraphIndex, item: number, title?: string): Port {
  const { name, outputs } = nodeOf(index, item, null);
  const [first] = outputs;
  return { node: name, slot: 0, dtype: first?.dtype ?? '', shape: first?.shape ?? [], title };
}

// Outputs are those of ops that no op reads.
export function boundaryOf(index: GraphIndex): { inputs: Port[]; outputs: Port[] } {
  const read = new Uint8Array(index.nodeCount);
  let edge = 0;
  for (let node = 0; node < index.nodeCount; node += 1) {
    for (; edge < (index.edgeEnd[node] as number); edge += 1) read[(node - (index.edgeBack[edge] as number)) >>> 0] = 1;
  }
  const found = { inputs: [] as Port[], outputs: [] as Port[] };
  for (let node = 0; node < index.nodeCount; node += 1) {
    const item = node + index.scopeCount;
    if (index.kind(item) === 'input') found.inputs.push(portOf(index, item));
    else if (index.kind(item) === 'op' && read[node] === 0) found.outputs.push(portOf(index, item));
  }
  return found;
}
