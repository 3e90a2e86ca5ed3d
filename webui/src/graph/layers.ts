// Assigns nodes to rows.

import { gatherNeighbours, type Adjacency } from './adjacency';
import type { FlatGraph, Spacing } from './flat_types';

// Edges directed along the order, without loops and duplicates.
export interface Links {
  from: Int32Array;
  to: Int32Array;
}

export interface Layering {
  // By node: its position in the order.
  rank: Int32Array;
  // By node.
  layer: Int32Array;
  count: number;
  links: Links;
  // By edge: the index of its link, or -1 for a loop.
  linkOf: Int32Array;
}

// Orders nodes so that producers come first. Of several possible next nodes it takes the first in
// execution order; cycles are broken there too.
function rankNodes(count: number, outgoing: Adjacency): Int32Array {
  const { start, others } = outgoing;
  const missing = new Int32Array(count);
  for (const to of others) missing[to]! += 1;
  const rank = new Int32Array(count).fill(-1);
  let next = 0;
  // Depth first from each node without missing producers, so that chains stay together.
  const stack: number[] = [];
  const takeAll = (root: number) => {
    stack.push(root);
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      if (rank[node] !== -1) continue;
      rank[node] = next;
      next += 1;
      for (let i = (start[node + 1] as number) - 1; i >= (start[node] as number); i -= 1) {
        const to = others[i] as number;
        missing[to]! -= 1;
        if (missing[to] === 0 && rank[to] === -1) stack.push(to);
      }
    }
  };
  for (let node = 0; node < count; node += 1) {
    if (missing[node] === 0 && rank[node] === -1) takeAll(node);
  }
  for (let node = 0; node < count; node += 1) {
    if (rank[node] === -1) takeAll(node);
  }
  return rank;
}

function withoutLoops(graph: FlatGraph): Adjacency {
  const edges = graph.edges.filter(([from, to]) => from !== to);
  const from = Int32Array.from(edges, (edge) => edge[0]);
  const to = Int32Array.from(edges, (edge) => edge[1]);
  return gatherNeighbours(graph.widths.length, from, to);
}

function orient(graph: FlatGraph, rank: Int32Array): { links: Links; linkOf: Int32Array } {
  const count = graph.widths.length;
  const linkOf = new Int32Array(graph.edges.length).fill(-1);
  const seen = new Map<number, number>();
  const from: number[] = [];
  const to: number[] = [];
  graph.edges.forEach(([a, b], index) => {
    if (a === b) return;
    const along = (rank[a] as number) < (rank[b] as number);
    const low = along ? a : b;
    const high = along ? b : a;
    const key = low * count + high;
    let link = seen.get(key);
    if (link === undefined) {
      from.push(low);
      link = to.push(high) - 1;
      seen.set(key, link);
    }
    linkOf[index] = link;
  });
  return { links: { from: Int32Array.from(from), to: Int32Array.from(to) }, linkOf };
}

function longestPath(count: number, links: Links, rank: Int32Array): Int32Array {
  const order = new Int32Array(count);
  rank.forEach((place, node) => (order[place] = node));
  const layer = new Int32Array(count);
  const { start, others } = gatherNeighbours(count, links.from, links.to);
  // Every link leads to a higher rank, so one pass is enough.
  for (const node of order) {
    const below = (layer[node] as number) + 1;
    for (let i = start[node] as number; i < (start[node + 1] as number); i += 1) {
      const to = others[i] as number;
      if ((layer[to] as number) < below) layer[to] = below;
    }
  }
  sink(layer, order, links, { start, others });
  return layer;
}

// Maximum number of levels of inputs that move down together with a node.
const FOLLOWERS = 4;

// Moves nodes down to just above their first consumer where that shortens edges in total. This
// applies to sources and to nodes that depend on sources only. An input that has no other consumer
// further up moves along at no cost, and so do its own inputs.
function sink(layer: Int32Array, order: Int32Array, links: Links, outgoing: Adjacency): void {
  const incoming = gatherNeighbours(layer.length, links.to, links.from);
  const firstBelow = (node: number, without: number) => {
    let first = Infinity;
    for (let i = outgoing.start[node] as number; i < (outgoing.start[node + 1] as number); i += 1) {
      const to = outgoing.others[i] as number;
      if (to !== without) first = Math.min(first, layer[to] as number);
    }
    return first;
  };
  // Counts the edges that get longer if the node moves to this layer, up to `enough`.
  const cost = (node: number, to: number, enough: number, depth: number): number => {
    let sum = 0;
    for (let i = incoming.start[node] as number; i < (incoming.start[node + 1] as number) && sum < enough; i += 1) {
      const input = incoming.others[i] as number;
      const follows = depth > 0 && firstBelow(input, node) >= to;
      sum += follows ? cost(input, to - 1, 1, depth - 1) : 1;
    }
    return Math.min(sum, enough);
  };
  for (let place = order.length - 1; place >= 0; place -= 1) {
    const node = order[place] as number;
    const outputs = (outgoing.start[node + 1] as number) - (outgoing.start[node] as number);
    if (outputs === 0) continue;
    const to = firstBelow(node, -1) - 1;
    if (to > (layer[node] as number) && cost(node, to, outputs, FOLLOWERS) < outputs) layer[node] = to;
  }
}

const widthOf = (graph: FlatGraph, node: number) =>
  (graph.widths[node] as number) + (graph.leftRoom?.[node] ?? 0);

// A row width that gives the whole drawing the desired aspect.
function rowLimit(graph: FlatGraph, spacing: Spacing): number {
  if (graph.aspect === 0) return Infinity;
  let area = 0;
  let widest = 0;
  for (let node = 0; node < graph.widths.length; node += 1) {
    const width = widthOf(graph, node);
    const height = graph.rowHeights?.[node] ?? (graph.heights[node] as number);
    area += (width + spacing.column) * (height + spacing.row);
    widest = Math.max(widest, width);
  }
  return Math.max(420, widest, Math.sqrt(area * graph.aspect) * 1.25);
}

// Splits nodes into rows of about `limit` width, in execution order.
function wrapRow(nodes: number[], graph: FlatGraph, spacing: Spacing, limit: number): number[][] {
  const total = nodes.reduce((sum, node) => sum + widthOf(graph, node) + spacing.column, 0);
  if (total <= limit * 1.3) return [nodes];
  const even = total / Math.ceil(total / limit);
  const rows: number[][] = [];
  let row: number[] = [];
  let width = 0;
  for (const node of nodes) {
    const wide = widthOf(graph, node) + spacing.column;
    if (row.length > 0 && width + wide > even * 1.02) {
      rows.push(row);
      row = [];
      width = 0;
    }
    row.push(node);
    width += wide;
  }
  rows.push(row);
  return rows;
}

export function assignLayers(graph: FlatGraph, spacing: Spacing): Layering {
  const count = graph.widths.length;
  const rank = rankNodes(count, withoutLoops(graph));
  const { links, linkOf } = orient(graph, rank);
  const raw = longestPath(count, links, rank);
  const byLayer: number[][] = [];
  for (let node = 0; node < count; node += 1) {
    (byLayer[raw[node] as number] ??= []).push(node);
  }
  const limit = rowLimit(graph, spacing);
  const layer = new Int32Array(count);
  let next = 0;
  for (const nodes of byLayer) {
    if (nodes === undefined || nodes.length === 0) continue;
    for (const row of wrapRow(nodes, graph, spacing, limit)) {
      for (const node of row) layer[node] = next;
      next += 1;
    }
  }
  return { rank, layer, count: next, links, linkOf };
}
