// Which row each node lies in.

import type { FlatGraph, Spacing } from './flat';

export interface Layering {
  // By node: its place in an order that edges follow where they can.
  rank: Int32Array;
  // By node.
  layer: Int32Array;
  count: number;
  // Edges turned along that order, without loops and doubles; by edge the index
  // into `links`, or -1 for a loop.
  links: Array<[number, number]>;
  linkOf: Int32Array;
}

// An order in which producers come first. Among those that may come next it takes
// the first in execution order; where there is a cycle, it breaks it there.
function rankNodes(count: number, edges: FlatGraph['edges']): Int32Array {
  const outgoing: number[][] = Array.from({ length: count }, () => []);
  const missing = new Int32Array(count);
  for (const [from, to] of edges) {
    if (from === to) continue;
    (outgoing[from] as number[]).push(to);
    missing[to] = (missing[to] as number) + 1;
  }
  const rank = new Int32Array(count).fill(-1);
  let next = 0;
  // Depth first from each node that is free, so that chains stay together.
  const stack: number[] = [];
  const take = (node: number) => {
    rank[node] = next;
    next += 1;
    for (const to of (outgoing[node] as number[]).toReversed()) {
      missing[to] = (missing[to] as number) - 1;
      if (missing[to] === 0 && rank[to] === -1) stack.push(to);
    }
  };
  const drain = () => {
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      if (rank[node] === -1) take(node);
    }
  };
  for (let node = 0; node < count; node += 1) {
    if (missing[node] !== 0 || rank[node] !== -1) continue;
    take(node);
    drain();
  }
  for (let node = 0; node < count; node += 1) {
    if (rank[node] !== -1) continue;
    take(node);
    drain();
  }
  return rank;
}

function orient(graph: FlatGraph, rank: Int32Array): { links: Array<[number, number]>; linkOf: Int32Array } {
  const links: Array<[number, number]> = [];
  const linkOf = new Int32Array(graph.edges.length).fill(-1);
  const seen = new Map<number, number>();
  const count = graph.widths.length;
  graph.edges.forEach(([from, to], index) => {
    if (from === to) return;
    const along = (rank[from] as number) < (rank[to] as number);
    const low = along ? from : to;
    const high = along ? to : from;
    const key = low * count + high;
    let link = seen.get(key);
    if (link === undefined) {
      link = links.push([low, high]) - 1;
      seen.set(key, link);
    }
    linkOf[index] = link;
  });
  return { links, linkOf };
}

function longestPath(
  count: number,
  links: Array<[number, number]>,
  rank: Int32Array,
): Int32Array {
  const order = Array.from(rank.keys()).sort((a, b) => (rank[a] as number) - (rank[b] as number));
  const layer = new Int32Array(count);
  const outgoing: number[][] = Array.from({ length: count }, () => []);
  const hasInput = new Uint8Array(count);
  for (const [from, to] of links) {
    (outgoing[from] as number[]).push(to);
    hasInput[to] = 1;
  }
  // Every link goes to a higher rank, so one pass in that order is enough.
  for (const node of order) {
    for (const to of outgoing[node] as number[]) {
      layer[to] = Math.max(layer[to] as number, (layer[node] as number) + 1);
    }
  }
  for (let node = 0; node < count; node += 1) {
    const targets = outgoing[node] as number[];
    if (hasInput[node] || targets.length === 0) continue;
    layer[node] = Math.min(...targets.map((to) => layer[to] as number)) - 1;
  }
  return layer;
}

// A width that makes all nodes together about as wide as high.
function rowLimit(graph: FlatGraph, spacing: Spacing): number {
  let area = 0;
  let widest = 0;
  graph.widths.forEach((width, node) => {
    area += (width + spacing.column) * ((graph.heights[node] as number) + spacing.row);
    widest = Math.max(widest, width);
  });
  return Math.max(420, widest, Math.sqrt(area * graph.aspect) * 1.25);
}

// Rows of at most `limit`, in execution order.
function wrapRow(nodes: number[], graph: FlatGraph, spacing: Spacing, limit: number): number[][] {
  const total = nodes.reduce((sum, node) => sum + (graph.widths[node] as number) + spacing.column, 0);
  if (total <= limit * 1.3) return [nodes];
  const even = total / Math.ceil(total / limit);
  const rows: number[][] = [];
  let row: number[] = [];
  let width = 0;
  for (const node of nodes) {
    const wide = (graph.widths[node] as number) + spacing.column;
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
  const rank = rankNodes(count, graph.edges);
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
