// Which row each node lies in.

import { gatherNeighbours, type Adjacency } from './adjacency';
import type { FlatGraph, Spacing } from './flat';

// Edges turned along the order, without loops and doubles.
export interface Links {
  from: Int32Array;
  to: Int32Array;
}

export interface Layering {
  // By node: its place in an order that edges follow where they can.
  rank: Int32Array;
  // By node.
  layer: Int32Array;
  count: number;
  links: Links;
  // By edge the index of its link, or -1 for a loop.
  linkOf: Int32Array;
}

// An order in which producers come first. Among those that may come next it takes
// the first in execution order; where there is a cycle, it breaks it there.
function rankNodes(count: number, outgoing: Adjacency): Int32Array {
  const { start, others } = outgoing;
  const missing = new Int32Array(count);
  for (const to of others) missing[to]! += 1;
  const rank = new Int32Array(count).fill(-1);
  let next = 0;
  // Depth first from each node that is free, so that chains stay together.
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
  const hasInput = new Uint8Array(count);
  for (const to of links.to) hasInput[to] = 1;
  // Every link goes to a higher rank, so one pass in that order is enough.
  for (const node of order) {
    const below = (layer[node] as number) + 1;
    for (let i = start[node] as number; i < (start[node + 1] as number); i += 1) {
      const to = others[i] as number;
      if ((layer[to] as number) < below) layer[to] = below;
    }
  }
  for (let node = 0; node < count; node += 1) {
    const begin = start[node] as number;
    const end = start[node + 1] as number;
    if (hasInput[node] || begin === end) continue;
    let first = Infinity;
    for (let i = begin; i < end; i += 1) first = Math.min(first, layer[others[i] as number] as number);
    layer[node] = first - 1;
  }
  return layer;
}

const widthOf = (graph: FlatGraph, node: number) =>
  (graph.widths[node] as number) + (graph.leftRoom?.[node] ?? 0);

// A width that makes all nodes together about as wide as high.
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

// Rows of at most `limit`, in execution order.
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
