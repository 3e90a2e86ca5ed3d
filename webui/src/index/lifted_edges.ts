// Edges of the views: each edge between nodes is lifted to the innermost scope that contains both
// ends, and drawn between two children of that scope.

import { NONE, type GraphIndex } from './graph_index';
import { modelGraphOf } from './model_graph';

// Edges sorted by scope. `from` and `to` are items.
export interface LiftedEdges {
  // By scope: the end of its edges.
  end: Uint32Array;
  from: Uint32Array;
  to: Uint32Array;
  // By edge: number of tensors.
  tensors: Uint32Array;
  control: Uint8Array;
}

// Finds the innermost scope that contains both ends of an edge, and its children on the path to
// each end.
class CommonScope {
  scope = 0;
  from = 0;
  to = 0;
  private readonly depth: Uint16Array;

  constructor(private readonly index: GraphIndex) {
    const parents = index.scopeParent;
    this.depth = new Uint16Array(parents.length);
    for (let scope = 1; scope < parents.length; scope += 1) {
      this.depth[scope] = (this.depth[parents[scope] as number] as number) + 1;
    }
  }

  find(fromNode: number, toNode: number): void {
    const parents = this.index.scopeParent;
    const scopes = this.index.nodeScope;
    this.from = fromNode + this.index.scopeCount;
    this.to = toNode + this.index.scopeCount;
    let a = scopes[fromNode] as number;
    let b = scopes[toNode] as number;
    while (a !== b) {
      if ((this.depth[a] as number) >= (this.depth[b] as number)) {
        this.from = a;
        a = parents[a] as number;
      } else {
        this.to = b;
        b = parents[b] as number;
      }
    }
    this.scope = a;
  }
}

// Hash table with open addressing: the number of an edge by its ends and kind.
class EdgeTable {
  private readonly slots: Int32Array;
  count = 0;

  constructor(
    private readonly from: Uint32Array,
    private readonly to: Uint32Array,
    private readonly control: Uint8Array,
  ) {
    let size = 1024;
    while (size < from.length * 2) size *= 2;
    this.slots = new Int32Array(size).fill(-1);
  }

  add(from: number, to: number, control: number): number {
    const mask = this.slots.length - 1;
    let slot = (Math.imul(from, 0x9e3779b1) ^ Math.imul(to, 0x85ebca6b) ^ control) & mask;
    for (; ; slot = (slot + 1) & mask) {
      const edge = this.slots[slot] as number;
      if (edge < 0) break;
      if (this.from[edge] === from && this.to[edge] === to && this.control[edge] === control) return edge;
    }
    this.slots[slot] = this.count;
    this.from[this.count] = from;
    this.to[this.count] = to;
    this.control[this.count] = control;
    this.count += 1;
    return this.count - 1;
  }
}

export function liftEdges(index: GraphIndex): LiftedEdges {
  const ends = index.edgeEnd;
  const backs = index.edgeBack;
  const controls = index.edgeControl;
  const from = new Uint32Array(backs.length);
  const to = new Uint32Array(backs.length);
  const control = new Uint8Array(backs.length);
  const tensors = new Uint32Array(backs.length);
  const scopeOf = new Uint32Array(backs.length);
  const table = new EdgeTable(from, to, control);
  const common = new CommonScope(index);
  // The box of an op shows the weights that belong to it.
  const owner = modelGraphOf(index)?.owner;
  let at = 0;
  for (let node = 0; node < ends.length; node += 1) {
    for (; at < (ends[node] as number); at += 1) {
      const source = (node - (backs[at] as number)) >>> 0;
      if (source === node || (owner !== undefined && owner[source] !== NONE)) continue;
      common.find(source, node);
      const edge = table.add(common.from, common.to, controls[at] as number);
      tensors[edge] = (tensors[edge] as number) + 1;
      scopeOf[edge] = common.scope;
    }
  }
  return byScope(index.scopeCount, table.count, { from, to, control, tensors, scopeOf });
}

type UnsortedEdges = Omit<LiftedEdges, 'end'> & { scopeOf: Uint32Array };

function byScope(scopes: number, count: number, unsorted: UnsortedEdges): LiftedEdges {
  const end = new Uint32Array(scopes);
  for (let i = 0; i < count; i += 1) end[unsorted.scopeOf[i] as number]! += 1;
  let sum = 0;
  const next = new Uint32Array(scopes);
  for (let scope = 0; scope < scopes; scope += 1) {
    next[scope] = sum;
    sum += end[scope] as number;
    end[scope] = sum;
  }
  const sorted: LiftedEdges = {
    end,
    from: new Uint32Array(count),
    to: new Uint32Array(count),
    tensors: new Uint32Array(count),
    control: new Uint8Array(count),
  };
  for (let i = 0; i < count; i += 1) {
    const scope = unsorted.scopeOf[i] as number;
    const place = next[scope] as number;
    next[scope] = place + 1;
    sorted.from[place] = unsorted.from[i] as number;
    sorted.to[place] = unsorted.to[i] as number;
    sorted.tensors[place] = unsorted.tensors[i] as number;
    sorted.control[place] = unsorted.control[i] as number;
  }
  return sorted;
}
