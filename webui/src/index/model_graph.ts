// Graphs of models, as ONNX files have them: one scope around everything, inputs, and no
// phases of training. Their ops are titled by type, and a weight belongs to the first op that reads it.

import { NONE, type GraphIndex } from './graph_index';

const PHASES = new Set(['forward', 'backward', 'optimizer', 'Default', 'Gradients']);
// An op with more of them shows the others as boxes of their own.
const MAX_OWNED = 8;
const OWNED_KINDS = new Set(['parameter', 'buffer', 'constant']);

export interface ModelGraph {
  // By node: the item of the op that it belongs to, or NONE.
  owner: Uint32Array;
  // By op: its weights.
  owned: ReadonlyMap<number, readonly number[]>;
  // By scope: the items to show. Ops are followed by their weights, wherever these are defined.
  children: number[][];
}

const known = new WeakMap<GraphIndex, ModelGraph | null>();

// Returns null for graphs of training.
export function modelGraphOf(index: GraphIndex): ModelGraph | null {
  let found = known.get(index);
  if (found === undefined) known.set(index, (found = isModel(index) ? read(index) : null));
  return found;
}

function isModel(index: GraphIndex): boolean {
  const [top, ...others] = index.childrenOf(0);
  if (top === undefined || others.length > 0 || !index.isScope(top)) return false;
  if (PHASES.has(index.label(top)) || index.edgeBack.length === 0) return false;
  for (let node = 0; node < index.nodeCount; node += 1) if (index.kind(node + index.scopeCount) === 'input') return true;
  return false;
}

// By node: the first op that reads it, or NONE. A shared weight is
// one node, so it has one place.
function firstReaders(index: GraphIndex): Uint32Array {
  const reader = new Uint32Array(index.nodeCount).fill(NONE);
  let edge = 0;
  for (let node = 0; node < index.nodeCount; node += 1) {
    const to = node + index.scopeCount;
    for (; edge < (index.edgeEnd[node] as number); edge += 1) {
      const from = (node - (index.edgeBack[edge] as number)) >>> 0;
      if (reader[from] === NONE) reader[from] = to;
    }
  }
  return reader;
}

// By node: whether it does not depend on an input: weights, and what ops compute of weights alone.
function constantNodes(index: GraphIndex): Uint8Array {
  const constant = new Uint8Array(index.nodeCount);
  let edge = 0;
  for (let node = 0; node < index.nodeCount; node += 1) {
    const kind = index.kind(node + index.scopeCount);
    let only = kind === 'op';
    for (; edge < (index.edgeEnd[node] as number); edge += 1) {
      if (constant[(node - (index.edgeBack[edge] as number)) >>> 0] !== 1) only = false;
    }
    if (only || OWNED_KINDS.has(kind)) constant[node] = 1;
  }
  return constant;
}

interface Owners {
  owner: Uint32Array;
  owned: Map<number, number[]>;
}

function findOwners(index: GraphIndex): Owners {
  const reader = firstReaders(index);
  const constant = constantNodes(index);
  const owner = new Uint32Array(index.nodeCount).fill(NONE);
  const owned = new Map<number, number[]>();
  const ownerFor = (from: number) => {
    const op = reader[from] as number;
    if (op === NONE || constant[from] !== 1 || index.kind(op) !== 'op') return NONE;
    // What is read by a constant of an op belongs to that op, too.
    return constant[op - index.scopeCount] === 1 ? (owner[op - index.scopeCount] as number) : op;
  };
  // Readers follow what they read, and have its inputs in their order.
  for (let node = index.nodeCount - 1; node >= 0; node -= 1) {
    const begin = node === 0 ? 0 : (index.edgeEnd[node - 1] as number);
    for (let edge = begin; edge < (index.edgeEnd[node] as number); edge += 1) {
      const from = (node - (index.edgeBack[edge] as number)) >>> 0;
      const op = ownerFor(from);
      const weights = owned.get(op) ?? [];
      if (op === NONE || owner[from] !== NONE || weights.length >= MAX_OWNED) continue;
      owner[from] = op;
      weights.push(from + index.scopeCount);
      owned.set(op, weights);
    }
  }
  return { owner, owned };
}

function read(index: GraphIndex): ModelGraph {
  const { owner, owned } = findOwners(index);
  const children: number[][] = [];
  // Inner scopes have larger numbers. Those that only had weights of other scopes are not shown.
  for (let scope = index.scopeCount - 1; scope >= 0; scope -= 1) {
    const shown: number[] = [];
    for (const item of index.childrenOf(scope)) {
      if (index.isScope(item)) {
        if ((children[item]?.length ?? 0) > 0) shown.push(item);
      } else if (owner[item - index.scopeCount] === NONE) shown.push(item, ...(owned.get(item) ?? []));
    }
    children[scope] = shown;
  }
  return { owner, owned, children };
}

// Returns the op that the item belongs to, or NONE.
export function ownerOf(index: GraphIndex, item: number): number {
  if (index.isScope(item)) return NONE;
  return modelGraphOf(index)?.owner[item - index.scopeCount] ?? NONE;
}

// The children of a scope as its view shows them.
export function childrenShown(index: GraphIndex, scope: number): ArrayLike<number> & Iterable<number> {
  return modelGraphOf(index)?.children[scope] ?? index.childrenOf(scope);
}
