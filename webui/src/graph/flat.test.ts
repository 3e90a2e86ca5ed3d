import { describe, expect, it } from 'vitest';
import { layoutFlat } from './flat';
import type { FlatGraph } from './flat_types';
import { countCrossings } from './ordering';
import { Isotonic } from './placement';
import { gatherNeighbours } from './adjacency';

function graph(count: number, edges: Array<[number, number]>, aspect = 1.5): FlatGraph {
  return {
    widths: Array<number>(count).fill(80),
    heights: Array<number>(count).fill(30),
    edges,
    aspect,
  };
}

// A deterministic graph: a chain with branches and long edges.
function tangle(count: number): FlatGraph {
  const edges: Array<[number, number]> = [];
  let seed = 7;
  const random = (limit: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % limit;
  };
  for (let i = 1; i < count; i += 1) {
    edges.push([random(i), i]);
    if (i % 3 === 0) edges.push([random(i), i]);
  }
  const tangled = graph(count, edges);
  return { ...tangled, widths: tangled.widths.map((_, i) => 60 + ((i * 37) % 120)) };
}

function overlaps(g: FlatGraph, layout: ReturnType<typeof layoutFlat>): number {
  let found = 0;
  for (let a = 0; a < g.widths.length; a += 1) {
    for (let b = a + 1; b < g.widths.length; b += 1) {
      const apart =
        layout.x[a]! + g.widths[a]! <= layout.x[b]! ||
        layout.x[b]! + g.widths[b]! <= layout.x[a]! ||
        layout.y[a]! + g.heights[a]! <= layout.y[b]! ||
        layout.y[b]! + g.heights[b]! <= layout.y[a]!;
      if (!apart) found += 1;
    }
  }
  return found;
}

describe('layoutFlat', () => {
  it('puts nothing upon anything else, and all of it inside its size', () => {
    for (const count of [1, 2, 17, 120]) {
      const g = tangle(count);
      const layout = layoutFlat(g);
      expect(overlaps(g, layout)).toBe(0);
      layout.x.forEach((x, i) => {
        expect(x).toBeGreaterThanOrEqual(-0.001);
        expect(x + g.widths[i]!).toBeLessThanOrEqual(layout.width + 0.001);
        expect(layout.y[i]! + g.heights[i]!).toBeLessThanOrEqual(layout.height + 0.001);
      });
    }
  });

  it('draws the same graph the same way', () => {
    expect(layoutFlat(tangle(60))).toEqual(layoutFlat(tangle(60)));
  });

  it('draws a chain as one straight line, top to bottom', () => {
    const layout = layoutFlat(graph(4, [[0, 1], [1, 2], [2, 3]]));
    expect(new Set(layout.x).size).toBe(1);
    expect([...layout.y]).toEqual([...layout.y].sort((a, b) => a - b));
  });

  it('draws every edge downwards unless there is a cycle, whatever order nodes come in', () => {
    // Like a scope whose parameters are listed after the ops that read them.
    const edges: Array<[number, number]> = [[0, 1], [2, 0], [3, 1]];
    const layout = layoutFlat(graph(4, edges));
    for (const [from, to] of edges) expect(layout.y[from]!).toBeLessThan(layout.y[to]!);
  });

  it('puts a source just above its first consumer', () => {
    // Node 4 is a parameter read only by the last op of the chain.
    const layout = layoutFlat(graph(5, [[0, 1], [1, 2], [2, 4], [3, 4]]));
    expect(layout.y[3]).toBe(layout.y[2]);
  });

  it('takes loops, doubles and edges against the order', () => {
    const layout = layoutFlat(graph(3, [[0, 0], [0, 1], [0, 1], [2, 1], [1, 2]]));
    expect(layout.routes[0]).toBeNull();
    expect(layout.routes[1]).toEqual(layout.routes[2]);
    const back = layout.routes[3]!;
    const forth = layout.routes[4]!;
    expect([back[0], back[1]]).toEqual([forth.at(-3), forth.at(-2)]);
  });

  it('takes a scope without nodes', () => {
    expect(layoutFlat(graph(0, []))).toMatchObject({ x: [], width: 0, height: 0 });
  });

  it('wraps many equal nodes instead of drawing one endless row', () => {
    const layout = layoutFlat(graph(400, []));
    expect(layout.width / layout.height).toBeLessThan(4);
    expect(layout.width / layout.height).toBeGreaterThan(0.5);
  });

  it('folds a long chain into columns', () => {
    const edges = Array.from({ length: 79 }, (_, i): [number, number] => [i, i + 1]);
    const g = graph(80, edges);
    const layout = layoutFlat(g);
    expect(layout.height).toBeLessThan(layout.width * 2);
    expect(overlaps(g, layout)).toBe(0);
  });

  it('starts and ends each edge at its nodes', () => {
    const g = tangle(80);
    const layout = layoutFlat(g);
    g.edges.forEach(([from, to], edge) => {
      const route = layout.routes[edge]!;
      const [x1, y1] = [route[0]!, route[1]!];
      const [x2, y2] = [route.at(-3)!, route.at(-2)!];
      expect(y1).toBeCloseTo(layout.y[from]! + g.heights[from]!, 3);
      expect(y2).toBeCloseTo(layout.y[to]!, 3);
      expect(x1).toBeGreaterThanOrEqual(layout.x[from]!);
      expect(x1).toBeLessThanOrEqual(layout.x[from]! + g.widths[from]!);
      expect(x2).toBeGreaterThanOrEqual(layout.x[to]!);
      expect(x2).toBeLessThanOrEqual(layout.x[to]! + g.widths[to]!);
    });
  });
});

function crossings(links: Array<[number, number]>): number {
  const down = gatherNeighbours(4, Int32Array.from(links, (l) => l[0]), Int32Array.from(links, (l) => l[1]));
  const rows = { rowStart: Int32Array.of(0, 2, 4), order: Int32Array.of(0, 1, 2, 3) };
  return countCrossings(rows, down, Int32Array.of(0, 1, 0, 1));
}

function isotonic(wanted: number[], weight: number[], gap: number[]): number[] {
  const result = new Float64Array(wanted.length);
  const gaps = Float64Array.of(...gap, 0);
  new Isotonic().solve(wanted.length, Float64Array.from(wanted), Float64Array.from(weight), gaps, result);
  return [...result];
}

describe('parts', () => {
  it('counts crossings', () => {
    expect(crossings([[0, 3], [1, 2]])).toBe(1);
    expect(crossings([[0, 2], [1, 3]])).toBe(0);
    expect(crossings([[0, 2], [0, 3], [1, 2], [1, 3]])).toBe(1);
  });

  it('keeps distances while it comes as near as it can', () => {
    expect(isotonic([0, 0], [1, 1], [10])).toEqual([-5, 5]);
    expect(isotonic([0, 100], [1, 1], [10])).toEqual([0, 100]);
    expect(isotonic([0, 0], [3, 1], [8])).toEqual([-2, 6]);
  });
});
