// Compares the quality of the layout with that of dagre, the most common layout library, on graphs
// recorded from real and realistic jobs. It tests ratios, not times.

import dagre from '@dagrejs/dagre';
import { describe, expect, it } from 'vitest';
import recorded from '../testing/recorded_graphs.json';
import { layoutFlat } from './flat';
import type { FlatGraph } from './flat_types';

interface Graph {
  title: string;
  nodes: number;
  edges: Array<[number, number]>;
}

// A wide and shallow graph, the worst case for barycentres alone.
function shallow(title: string, sources: number, sinks: number, step: number): Graph {
  const edges: Array<[number, number]> = [];
  for (let i = 0; i < sources; i += 1) {
    for (let k = 0; k < 2; k += 1) edges.push([i, sources + ((i * step + k * 11) % sinks)]);
  }
  return { title, nodes: sources + sinks, edges };
}

// A deterministic multilayer graph with skip connections.
function layered(title: string, layers: number, width: number): Graph {
  const edges: Array<[number, number]> = [];
  for (let node = width; node < layers * width; node += 1) {
    const above = (Math.floor(node / width) - 1) * width;
    edges.push([above + ((node * 7) % width), node], [above + ((node * 3 + 1) % width), node]);
    if (node % 9 === 0 && above >= width) edges.push([above - width + (node % width), node]);
  }
  return { title, nodes: layers * width, edges };
}

const GRAPHS: Graph[] = [
  ...(recorded as Graph[]),
  shallow('20 to 12, shallow', 20, 12, 5),
  shallow('40 to 40, shallow', 40, 40, 7),
  layered('6 layers of 8', 6, 8),
  layered('12 layers of 12', 12, 12),
];

const sizes = ({ nodes }: Graph) => ({
  widths: Array.from({ length: nodes }, (_, i) => 70 + ((i * 37) % 90)),
  heights: Array<number>(nodes).fill(38),
});

// Counts crossings of straight lines between centres. Lines with a common end do not cross.
function crossings(edges: Graph['edges'], x: (node: number) => number, y: (node: number) => number): number {
  const side = (a: number, b: number, c: number) =>
    Math.sign((x(b) - x(a)) * (y(c) - y(a)) - (y(b) - y(a)) * (x(c) - x(a)));
  let count = 0;
  edges.forEach(([a, b], i) => {
    for (let j = i + 1; j < edges.length; j += 1) {
      const [c, d] = edges[j] as [number, number];
      if (a === c || a === d || b === c || b === d) continue;
      if (side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0) count += 1;
    }
  });
  return count;
}

function ours(graph: Graph): number {
  const { widths, heights } = sizes(graph);
  const layout = layoutFlat({ widths, heights, edges: graph.edges, aspect: 0 });
  const middle = (node: number) => layout.x[node]! + widths[node]! / 2;
  return crossings(graph.edges, middle, (node) => layout.y[node]! + heights[node]! / 2);
}

function dagres(graph: Graph): number {
  const { widths, heights } = sizes(graph);
  const g = new dagre.graphlib.Graph();
  g.setGraph({ rankdir: 'TB' });
  g.setDefaultEdgeLabel(() => ({}));
  widths.forEach((width, node) => g.setNode(String(node), { width, height: heights[node]! }));
  for (const [from, to] of graph.edges) g.setEdge(String(from), String(to));
  dagre.layout(g);
  const at = (node: number) => g.node(String(node)) as { x: number; y: number };
  return crossings(graph.edges, (node) => at(node).x, (node) => at(node).y);
}

describe('crossings', () => {
  const ratios = GRAPHS.map((graph) => {
    const own = ours(graph);
    const other = dagres(graph);
    // A difference of a few crossings is not visible.
    return { title: graph.title, own, other, ratio: (own + 4) / (other + 4) };
  });

  it.each(ratios)('of $title: $own, dagre has $other', ({ ratio }) => {
    expect(ratio).toBeLessThanOrEqual(1.5);
  });

  it('are at most a quarter more than dagre has, in the geometric mean', () => {
    const mean = Math.exp(ratios.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / ratios.length);
    expect(mean).toBeLessThanOrEqual(1.25);
  });
});

describe.each(GRAPHS)('the drawing of $title', (graph) => {
  const flat = (change: Partial<FlatGraph> = {}): FlatGraph => ({
    ...sizes(graph), edges: graph.edges, aspect: 1.5, ...change,
  });

  it('has nothing upon anything else', () => {
    const input = flat();
    const layout = layoutFlat(input);
    const order = [...input.widths.keys()].sort((a, b) => layout.x[a]! - layout.x[b]!);
    order.forEach((a, i) => {
      for (let j = i + 1; j < order.length; j += 1) {
        const b = order[j]!;
        if (layout.x[b]! >= layout.x[a]! + input.widths[a]!) break;
        const apart = layout.y[a]! + 38 <= layout.y[b]! || layout.y[b]! + 38 <= layout.y[a]!;
        expect(apart, `${a} and ${b}`).toBe(true);
      }
    });
  });

  it('keeps the order of what stands beside a scope that is opened', () => {
    const opened = Math.floor(graph.nodes / 2);
    const grow = (values: readonly number[], to: number) => values.map((value, i) => (i === opened ? to : value));
    const before = flat({ aspect: 0 });
    const after = { ...before, widths: grow(before.widths, 700), heights: grow(before.heights, 500) };
    const rows = (input: FlatGraph) => {
      const layout = layoutFlat(input);
      const byRow = new Map<number, number[]>();
      const middle = (node: number) => Math.round(layout.y[node]! + input.heights[node]! / 2);
      const left = [...input.widths.keys()].sort((a, b) => layout.x[a]! - layout.x[b]!);
      for (const node of left) byRow.set(middle(node), [...(byRow.get(middle(node)) ?? []), node]);
      return [...byRow.entries()].sort((a, b) => a[0] - b[0]).map(([, nodes]) => nodes);
    };
    expect(rows(after)).toEqual(rows(before));
  });
});
