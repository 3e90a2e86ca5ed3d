// Places parameters and constants in a stack to the left of the op that reads them, or inside it. The
// layers are laid out without them, with space reserved for each stack.

import type { FlatGraph, FlatLayout, RoutePoints } from './flat_types';

// Distance between the stack and its op, for the edges.
const GAP = 22;
const BETWEEN = 5;

interface Stack {
  // The op and its stack from top to bottom, as node indices of the whole graph.
  core: number;
  members: number[];
  width: number;
  height: number;
}

export interface Stacks {
  reduce(graph: FlatGraph): FlatGraph;
  // Turns the layout of the graph that reduce() returned into one of the whole graph.
  spread(layout: FlatLayout): FlatLayout;
}

function gather(
  widths: readonly number[],
  heights: readonly number[],
  beside: readonly number[],
  insets: readonly number[],
): Map<number, Stack> {
  const stacks = new Map<number, Stack>();
  beside.forEach((core, node) => {
    if (core < 0 || (insets[node] ?? -1) >= 0) return;
    let stack = stacks.get(core);
    if (stack === undefined) stacks.set(core, (stack = { core, members: [], width: 0, height: -BETWEEN }));
    stack.members.push(node);
    stack.width = Math.max(stack.width, widths[node] as number);
    stack.height += (heights[node] as number) + BETWEEN;
  });
  return stacks;
}

export function placeBeside(
  widths: readonly number[],
  heights: readonly number[],
  beside: readonly number[],
  insets: readonly number[] = [],
): Stacks {
  const stacks = gather(widths, heights, beside, insets);
  const kept = [...widths.keys()].filter((node) => (beside[node] as number) < 0);
  const place = new Map(kept.map((node, i) => [node, i]));
  let edges: FlatGraph['edges'] = [];
  return {
    reduce(graph) {
      if (kept.length === widths.length) return graph;
      edges = graph.edges;
      return {
        widths: kept.map((node) => widths[node] as number),
        heights: kept.map((node) => heights[node] as number),
        edges: edges
          .filter(([from]) => place.has(from))
          .map(([from, to]) => [place.get(from) as number, place.get(to) as number]),
        aspect: graph.aspect,
        leftRoom: kept.map((node) => {
          const stack = stacks.get(node);
          return stack === undefined ? 0 : stack.width + GAP;
        }),
        rowHeights: kept.map((node) => Math.max(heights[node] as number, stacks.get(node)?.height ?? 0)),
      };
    },
    spread(layout) {
      if (kept.length === widths.length) return layout;
      const x: number[] = [];
      const y: number[] = [];
      kept.forEach((node, i) => {
        x[node] = layout.x[i] as number;
        y[node] = layout.y[i] as number;
      });
      for (const { core, members, height } of stacks.values()) {
        let top = (y[core] as number) + (heights[core] as number) / 2 - height / 2;
        for (const node of members) {
          x[node] = (x[core] as number) - GAP - (widths[node] as number);
          y[node] = top;
          top += (heights[node] as number) + BETWEEN;
        }
      }
      insets.forEach((inset, node) => {
        if (inset < 0) return;
        const core = beside[node] as number;
        x[node] = (x[core] as number) + ((widths[core] as number) - (widths[node] as number)) / 2;
        y[node] = (y[core] as number) + inset;
      });
      let next = 0;
      const routes = edges.map(([from, to]): RoutePoints | null => {
        if (place.has(from)) return layout.routes[next++] ?? null;
        return sideways(from, to, stacks.get(to) as Stack);
      });
      return { ...layout, x, y, routes };

      function sideways(from: number, to: number, { members }: Stack): RoutePoints {
        const share = (members.indexOf(from) + 1) / (members.length + 1);
        const tall = heights[to] as number;
        return [
          (x[from] as number) + (widths[from] as number),
          (y[from] as number) + (heights[from] as number) / 2,
          2,
          x[to] as number,
          (y[to] as number) + tall * (0.25 + share * 0.5),
          2,
        ];
      }
    },
  };
}
