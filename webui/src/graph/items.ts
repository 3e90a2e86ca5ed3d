// The items of rows: nodes, and the dummies through which long edges pass.

import { gatherNeighbours, type Adjacency } from './adjacency';
import type { FlatGraph, Spacing } from './flat_types';
import type { Layering } from './layers';

export interface Items {
  nodes: number;
  // Nodes first, then dummies.
  count: number;
  // By item: its row.
  layer: Int32Array;
  // By item: its extent to either side of its x, where its edges end.
  left: Float64Array;
  right: Float64Array;
  // Neighbours in the row above and below.
  up: Adjacency;
  down: Adjacency;
  // Items of all rows from left to right; those of a row start at `rowStart[row]`.
  rowStart: Int32Array;
  order: Int32Array;
  // By node: the first dummy of its trunk, in the row below it. The others follow with consecutive
  // numbers in consecutive rows.
  trunk: Int32Array;
  // Links across more rows than this have no dummies.
  longest: number;
  // By item.
  x: Float64Array;
}

// The number of rows between the ends of a link.
function spanOf({ layer, links }: Layering, link: number): number {
  const to = links.to[link] as number;
  return (layer[to] as number) - (layer[links.from[link] as number] as number) - 1;
}

// The budget of dummies: this many per node, but not less than the minimum.
const DUMMIES_PER_NODE = 2;
const MIN_DUMMIES = 12_000;

// By node: the span of its longest edge, ignoring edges longer than `most`.
function trunkLengths(layering: Layering, count: number, most: number): Int32Array {
  const lengths = new Int32Array(count);
  for (let link = 0; link < layering.links.from.length; link += 1) {
    const from = layering.links.from[link] as number;
    const span = spanOf(layering, link);
    if (span <= most && span > (lengths[from] as number)) lengths[from] = span;
  }
  return lengths;
}

// The longest span that still gets dummies. If the budget is exceeded, the longest edges run outside
// the rows.
function longestSpan(layering: Layering, count: number): number {
  const budget = Math.max(MIN_DUMMIES, count * DUMMIES_PER_NODE);
  let most = layering.count;
  for (;;) {
    const sum = trunkLengths(layering, count, most).reduce((total, length) => total + length, 0);
    if (sum <= budget || most <= 2) return most;
    most = Math.min(most - 1, Math.ceil(most / 2));
  }
}

// Fills each row with its nodes in execution order, followed by its dummies.
function fillRows(layer: Int32Array, rows: number): { rowStart: Int32Array; order: Int32Array } {
  const all = Int32Array.from(layer.keys());
  const { start, others } = gatherNeighbours(rows, layer, all);
  return { rowStart: start, order: others };
}

export function buildItems(graph: FlatGraph, layering: Layering, spacing: Spacing): Items {
  const nodes = graph.widths.length;
  const most = longestSpan(layering, nodes);
  const lengths = trunkLengths(layering, nodes, most);
  const trunk = new Int32Array(nodes);
  let count = nodes;
  lengths.forEach((length, node) => {
    trunk[node] = count;
    count += length;
  });
  const layer = new Int32Array(count);
  layer.set(layering.layer);
  const left = new Float64Array(count).fill(spacing.dummy / 2);
  const right = new Float64Array(count).fill(spacing.dummy / 2);
  for (let node = 0; node < nodes; node += 1) {
    const half = (graph.widths[node] as number) / 2;
    left[node] = half + (graph.leftRoom?.[node] ?? 0);
    right[node] = half;
  }
  const { links } = layering;
  let room = count - nodes;
  for (let link = 0; link < links.from.length; link += 1) {
    if (spanOf(layering, link) <= most) room += 1;
  }
  const upper = new Int32Array(room);
  const lower = new Int32Array(room);
  let at = 0;
  const connect = (a: number, b: number) => {
    upper[at] = a;
    lower[at] = b;
    at += 1;
  };
  for (let node = 0; node < nodes; node += 1) {
    const first = trunk[node] as number;
    for (let i = 0; i < (lengths[node] as number); i += 1) {
      layer[first + i] = (layer[node] as number) + 1 + i;
      connect(i === 0 ? node : first + i - 1, first + i);
    }
  }
  for (let link = 0; link < links.from.length; link += 1) {
    const from = links.from[link] as number;
    const to = links.to[link] as number;
    const span = spanOf(layering, link);
    if (span > most) continue;
    connect(span > 0 ? (trunk[from] as number) + span - 1 : from, to);
  }
  return {
    nodes,
    count,
    layer,
    left,
    right,
    up: gatherNeighbours(count, lower, upper),
    down: gatherNeighbours(count, upper, lower),
    ...fillRows(layer, layering.count),
    trunk,
    longest: most,
    x: new Float64Array(count),
  };
}
