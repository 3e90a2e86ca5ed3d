// Vertical positions, columns, and routes of edges.
//
// A drawing that is much taller than desired is cut between rows. The pieces are placed side by side
// like columns of text. Edges that cross a cut run down, through the gutter, and enter the next
// column from the top.

import type { Adjacency } from './adjacency';
import type { FlatGraph, FlatLayout, RoutePoints, Spacing } from './flat_types';
import type { Items } from './items';
import type { Layering } from './layers';

const MAX_COLUMNS = 32;
// Drawings of less height are never cut.
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
  return Array.from({ length: items.rowStart.length - 1 }, (_, row) => {
    let left = Infinity;
    let right = -Infinity;
    for (let i = items.rowStart[row] as number; i < (items.rowStart[row + 1] as number); i += 1) {
      const item = items.order[i] as number;
      left = Math.min(left, (items.x[item] as number) - (items.left[item] as number));
      right = Math.max(right, (items.x[item] as number) + (items.right[item] as number));
    }
    return { left, right };
  });
}

function rowHeights(graph: FlatGraph, items: Items): number[] {
  const tall = graph.rowHeights ?? graph.heights;
  const heights = Array<number>(items.rowStart.length - 1).fill(0);
  for (let node = 0; node < items.nodes; node += 1) {
    const row = items.layer[node] as number;
    heights[row] = Math.max(heights[row] as number, tall[node] as number);
  }
  return heights;
}

// By row: the number of edges that cross a cut above it.
function cutSizes(items: Items): number[] {
  const cuts = Array<number>(items.rowStart.length - 1).fill(0);
  for (let item = 0; item < items.count; item += 1) {
    const row = items.layer[item] as number;
    cuts[row] = (cuts[row] as number) + (items.up.start[item + 1] as number) - (items.up.start[item] as number);
  }
  return cuts;
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
    // A short remainder joins the last column.
    if (columns.length === wanted - 1) bestEnd = heights.length;
    const rows = extents.slice(first, bestEnd);
    columns.push({
      first,
      end: bestEnd,
      left: rows.reduce((least, { left }) => Math.min(least, left), Infinity),
      right: rows.reduce((most, { right }) => Math.max(most, right), -Infinity),
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
  if (graph.aspect === 0 || sizeOf(single, spacing).height < MIN_FOLD_HEIGHT) return single;
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
  // By column: its left side, and the offset added to an item's x.
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

// Horizontal offsets at which edges leave or enter nodes, by position in the neighbour lists. Edges
// are spread over the middle of the node's side in the order of their other ends, so that they do
// not overlap. Sorts the neighbour lists into that order.
function portOffsets(graph: FlatGraph, items: Items, near: Adjacency): Float64Array {
  const offsets = new Float64Array(near.others.length);
  for (let node = 0; node < items.nodes; node += 1) {
    const begin = near.start[node] as number;
    const count = (near.start[node + 1] as number) - begin;
    if (count < 2) continue;
    const list = near.others.subarray(begin, begin + count);
    list.sort((a, b) => (items.x[a] as number) - (items.x[b] as number));
    const room = Math.min((graph.widths[node] as number) * 0.5, (count - 1) * 14);
    for (let i = 0; i < count; i += 1) offsets[begin + i] = (i / (count - 1) - 0.5) * room;
  }
  return offsets;
}

// Appends a point. Of several points on one vertical line only the ends are kept.
function add(points: RoutePoints, x: number, y: number, mode: number): void {
  const n = points.length;
  const level = (at: number) => Math.abs((points[at] as number) - x) < 0.01;
  if (n >= 6 && level(n - 3) && level(n - 6)) points[n - 2] = y;
  else points.push(x, y, mode);
}

class Router {
  private readonly ups: Float64Array;
  private readonly downs: Float64Array;

  constructor(
    private readonly graph: FlatGraph,
    private readonly items: Items,
    private readonly placed: Placed,
  ) {
    this.ups = portOffsets(graph, items, items.up);
    this.downs = portOffsets(graph, items, items.down);
  }

  column(item: number): number {
    return this.placed.columnOf[this.items.layer[item] as number] as number;
  }

  isFar(from: number, to: number): boolean {
    return (this.items.layer[to] as number) - (this.items.layer[from] as number) - 1 > this.items.longest;
  }

  private top(item: number): number {
    const row = this.items.layer[item] as number;
    const top = this.placed.top[row] as number;
    if (item >= this.items.nodes) return top;
    return top + ((this.placed.rowHeight[row] as number) - (this.graph.heights[item] as number)) / 2;
  }

  private bottom(item: number): number {
    const row = this.items.layer[item] as number;
    return item < this.items.nodes
      ? this.top(item) + (this.graph.heights[item] as number)
      : (this.placed.top[row] as number) + (this.placed.rowHeight[row] as number);
  }

  private centre(item: number): number {
    return (this.items.x[item] as number) + (this.placed.shift[this.column(item)] as number);
  }

  private offset(item: number, other: number, near: Adjacency, offsets: Float64Array): number {
    if (item >= this.items.nodes) return 0;
    for (let i = near.start[item] as number; i < (near.start[item + 1] as number); i += 1) {
      if (near.others[i] === other) return offsets[i] as number;
    }
    return 0;
  }

  // A route outside the rows: below the first row to the side of the column, along it, and in above
  // the last row.
  private farRoute(from: number, to: number, lane: number): RoutePoints {
    const { placed } = this;
    const side = (item: number) => (placed.start[this.column(item)] as number) - 22 + lane;
    const out = this.bottom(from) + 7;
    const into = this.top(to) - 7;
    const points = [this.centre(from), this.bottom(from), 0];
    points.push(this.centre(from), out, 1, side(from), out, 1);
    if (this.column(from) !== this.column(to)) {
      const below = (placed.bottomOf[this.column(from)] as number) + TURN + lane / 2;
      points.push(side(from), below, 1, side(to), below, 1);
    }
    points.push(side(to), into, 1, this.centre(to), into, 1, this.centre(to), this.top(to), 1);
    return points;
  }

  // A route from one node to another, down along the trunk of the first.
  route(from: number, to: number, lane: number): RoutePoints {
    const { items, placed } = this;
    if (this.isFar(from, to)) return this.farRoute(from, to, lane);
    const points: RoutePoints = [];
    const span = (items.layer[to] as number) - (items.layer[from] as number);
    const trunk = (items.trunk[from] as number) - 1;
    for (let i = 0; i < span; i += 1) {
      const a = i === 0 ? from : trunk + i;
      const b = i + 1 === span ? to : trunk + i + 1;
      const fromX = this.centre(a) + this.offset(a, b, items.down, this.downs);
      const toX = this.centre(b) + this.offset(b, a, items.up, this.ups);
      // The line passes straight through the dummy's row; the next segment starts below it.
      add(points, fromX, this.bottom(a), i === 0 ? 0 : 1);
      if (this.column(a) === this.column(b)) {
        add(points, toX, this.top(b), 0);
        continue;
      }
      const gutter = (placed.start[this.column(b)] as number) - 22 + lane;
      const below = (placed.bottomOf[this.column(a)] as number) + TURN + lane / 2;
      const above = -TURN - lane / 2;
      points.push(fromX, below, 1, gutter, below, 1, gutter, above, 1, toX, above, 1, toX, this.top(b), 1);
    }
    return points;
  }
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
  const router = new Router(graph, items, placed);
  let lanes = 0;
  const byLink = Array.from(layering.links.from, (from, link) => {
    const to = layering.links.to[link] as number;
    const crosses = router.column(from) !== router.column(to) || router.isFar(from, to);
    const lane = crosses ? ((lanes++ % 5) - 2) * LANE : 0;
    return router.route(from, to, lane);
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

// A point's mode describes the segment before it, so modes shift by one.
function reverseRoute(route: RoutePoints): RoutePoints {
  const reversed: RoutePoints = [];
  for (let i = route.length - 3; i >= 0; i -= 3) {
    reversed.push(route[i] as number, route[i + 1] as number, route[i + 5] ?? 0);
  }
  return reversed;
}
