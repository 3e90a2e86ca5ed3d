// Vertical places, columns, and the routes of edges.
//
// A drawing that is much taller than wanted is cut between rows; the pieces
// stand side by side, read like columns of text, and edges that cross a cut run
// down, over through the gutter, and in from the top.

import type { FlatGraph, FlatLayout, RoutePoints, Spacing } from './flat';
import type { Items } from './items';
import type { Layering } from './layers';

const MAX_COLUMNS = 12;
// Shorter drawings are never cut.
const MIN_FOLD_HEIGHT = 420;
const LANE = 4;
const TURN = 12;

interface Extent {
  left: number;
  right: number;
}

interface Column extends Extent {
  first: number;
  // One past the last row.
  end: number;
  height: number;
}

function rowExtents(items: Items): Extent[] {
  return items.rows.map((row) => {
    let left = Infinity;
    let right = -Infinity;
    for (const item of row) {
      const half = (items.width[item] as number) / 2;
      left = Math.min(left, (items.x[item] as number) - half);
      right = Math.max(right, (items.x[item] as number) + half);
    }
    return { left, right };
  });
}

function rowHeights(graph: FlatGraph, items: Items): number[] {
  return items.rows.map((row) =>
    row.reduce(
      (height, item) => Math.max(height, item < items.nodes ? (graph.heights[item] as number) : 0),
      0,
    ),
  );
}

// How many edges cross the cut above each row.
function cutSizes(items: Items): number[] {
  return items.rows.map((row) =>
    row.reduce((sum, item) => sum + (items.up[item] as number[]).length, 0),
  );
}

function cutInto(
  wanted: number,
  heights: number[],
  cuts: number[],
  extents: Extent[],
  spacing: Spacing,
): Column[] {
  const total = heights.reduce((sum, height) => sum + height + spacing.row, 0);
  const target = total / wanted;
  const columns: Column[] = [];
  let first = 0;
  while (first < heights.length) {
    let height = 0;
    let end = first;
    let bestEnd = first + 1;
    let bestCost = Infinity;
    while (end < heights.length && (height < target * 1.25 || end === first)) {
      height += (heights[end] as number) + spacing.row;
      end += 1;
      const crossing = end < heights.length ? (cuts[end] as number) : 0;
      const cost = Math.abs(height - target) / target + crossing * 0.04;
      if (cost < bestCost) {
        bestCost = cost;
        bestEnd = end;
      }
    }
    // A short rest joins the last column rather than standing alone.
    if (columns.length === wanted - 1) bestEnd = heights.length;
    const rows = extents.slice(first, bestEnd);
    columns.push({
      first,
      end: bestEnd,
      left: Math.min(...rows.map((row) => row.left)),
      right: Math.max(...rows.map((row) => row.right)),
      height:
        heights.slice(first, bestEnd).reduce((sum, value) => sum + value + spacing.row, 0) -
        spacing.row,
    });
    first = bestEnd;
  }
  return columns;
}

function sizeOf(columns: Column[], spacing: Spacing): { width: number; height: number } {
  const width = columns.reduce((sum, column) => sum + column.right - column.left, 0);
  return {
    width: width + spacing.gutter * Math.max(0, columns.length - 1),
    height: Math.max(0, ...columns.map((column) => column.height)),
  };
}

function chooseColumns(graph: FlatGraph, items: Items, spacing: Spacing): Column[] {
  const heights = rowHeights(graph, items);
  const extents = rowExtents(items);
  const cuts = cutSizes(items);
  const single = cutInto(1, heights, cuts, extents, spacing);
  const misfit = (columns: Column[]) => {
    const { width, height } = sizeOf(columns, spacing);
    return Math.abs(Math.log(width / Math.max(1, height) / graph.aspect));
  };
  if (sizeOf(single, spacing).height < MIN_FOLD_HEIGHT) return single;
  let best = single;
  let bestMisfit = misfit(single) - 0.25;
  for (let count = 2; count <= Math.min(MAX_COLUMNS, heights.length); count += 1) {
    const columns = cutInto(count, heights, cuts, extents, spacing);
    const value = misfit(columns);
    if (value < bestMisfit) {
      best = columns;
      bestMisfit = value;
    }
  }
  return best;
}

interface Placed {
  columnOf: number[];
  // By column: its left side, and what is added to an item's x.
  start: number[];
  shift: number[];
  // By row.
  top: number[];
  rowHeight: number[];
  bottomOf: number[];
}

function placeRows(columns: Column[], heights: number[], spacing: Spacing): Placed {
  const placed: Placed = {
    columnOf: [],
    start: [],
    shift: [],
    top: [],
    rowHeight: heights,
    bottomOf: [],
  };
  let x = 0;
  columns.forEach((column, index) => {
    placed.start.push(x);
    placed.shift.push(x - column.left);
    x += column.right - column.left + spacing.gutter;
    let y = 0;
    for (let row = column.first; row < column.end; row += 1) {
      placed.columnOf[row] = index;
      placed.top[row] = y;
      y += (heights[row] as number) + spacing.row;
    }
    placed.bottomOf.push(column.height);
  });
  return placed;
}

// Where edges leave or enter a node: spread over the middle of its side, in the
// order of their other ends, so that they do not lie on one another.
function portOffsets(items: Items, side: 'up' | 'down'): Map<number, number>[] {
  return items[side].slice(0, items.nodes).map((others, node) => {
    const sorted = [...new Set(others)].sort(
      (a, b) => (items.x[a] as number) - (items.x[b] as number),
    );
    const room = Math.min((items.width[node] as number) * 0.5, (sorted.length - 1) * 14);
    const offsets = new Map<number, number>();
    sorted.forEach((other, place) => {
      const share = sorted.length === 1 ? 0 : place / (sorted.length - 1) - 0.5;
      offsets.set(other, share * room);
    });
    return offsets;
  });
}

function routeOf(
  path: number[],
  graph: FlatGraph,
  items: Items,
  placed: Placed,
  ports: { up: Map<number, number>[]; down: Map<number, number>[] },
  lane: number,
): RoutePoints {
  const points: RoutePoints = [];
  const row = (item: number) => items.layer[item] as number;
  const column = (item: number) => placed.columnOf[row(item)] as number;
  const top = (item: number) => {
    const slack = (placed.rowHeight[row(item)] as number) - (graph.heights[item] ?? 0);
    return (placed.top[row(item)] as number) + (item < items.nodes ? slack / 2 : 0);
  };
  const bottom = (item: number) =>
    item < items.nodes
      ? top(item) + (graph.heights[item] as number)
      : (placed.top[row(item)] as number) + (placed.rowHeight[row(item)] as number);
  const centre = (item: number) => (items.x[item] as number) + (placed.shift[column(item)] as number);
  for (let i = 0; i + 1 < path.length; i += 1) {
    const a = path[i] as number;
    const b = path[i + 1] as number;
    const fromX = centre(a) + (a < items.nodes ? (ports.down[a]?.get(b) ?? 0) : 0);
    const toX = centre(b) + (b < items.nodes ? (ports.up[b]?.get(a) ?? 0) : 0);
    // A dummy's point is drawn through its row; the next segment starts below it.
    points.push(fromX, bottom(a), i === 0 ? 0 : 1);
    if (column(a) === column(b)) {
      points.push(toX, top(b), 0);
      continue;
    }
    const gutter = (placed.start[column(b)] as number) - 22 + lane;
    const below = (placed.bottomOf[column(a)] as number) + TURN + lane / 2;
    const above = -TURN - lane / 2;
    points.push(fromX, below, 1, gutter, below, 1, gutter, above, 1, toX, above, 1, toX, top(b), 1);
  }
  return points;
}

export function placeColumns(
  graph: FlatGraph,
  layering: Layering,
  items: Items,
  spacing: Spacing,
): FlatLayout {
  const columns = chooseColumns(graph, items, spacing);
  const placed = placeRows(columns, rowHeights(graph, items), spacing);
  const x: number[] = [];
  const y: number[] = [];
  for (let node = 0; node < items.nodes; node += 1) {
    const row = items.layer[node] as number;
    const shift = placed.shift[placed.columnOf[row] as number] as number;
    const slack = (placed.rowHeight[row] as number) - (graph.heights[node] as number);
    x.push((items.x[node] as number) + shift - (graph.widths[node] as number) / 2);
    y.push((placed.top[row] as number) + slack / 2);
  }
  const ports = { up: portOffsets(items, 'up'), down: portOffsets(items, 'down') };
  let lanes = 0;
  const byLink = layering.links.map((_, link) => {
    const path = items.paths[link] as number[];
    const crosses =
      placed.columnOf[items.layer[path[0] as number] as number] !==
      placed.columnOf[items.layer[path.at(-1) as number] as number];
    const lane = crosses ? ((lanes++ % 5) - 2) * LANE : 0;
    return routeOf(path, graph, items, placed, ports, lane);
  });
  const routes = graph.edges.map(([from, to], edge) => {
    const link = layering.linkOf[edge] as number;
    if (link < 0) return null;
    const route = byLink[link] as RoutePoints;
    const along = (layering.rank[from] as number) < (layering.rank[to] as number);
    return along ? route : reverseRoute(route);
  });
  const size = sizeOf(columns, spacing);
  return { x, y, width: size.width, height: size.height, routes };
}

// A point's mode belongs to the segment before it, so modes move by one.
function reverseRoute(route: RoutePoints): RoutePoints {
  const reversed: RoutePoints = [];
  for (let i = route.length - 3; i >= 0; i -= 3) {
    reversed.push(route[i] as number, route[i + 1] as number, route[i + 5] ?? 0);
  }
  return reversed;
}
