// Input and output of the layout of one flat graph.

export interface FlatGraph {
  widths: readonly number[];
  heights: readonly number[];
  // Pairs of node indices.
  edges: ReadonlyArray<readonly [number, number]>;
  // Desired width / height; 0 allows any ratio and never folds the drawing into columns.
  aspect: number;
  // By node: space to keep free on its left. Absent: none.
  leftRoom?: readonly number[];
  // By node: height of its row, where that exceeds the node's own height.
  rowHeights?: readonly number[];
}

// Points of an edge as x, y, mode. Mode 0 is a smooth vertical step from the previous point,
// 1 a straight line with a rounded corner, 2 a smooth step to the right.
export type RoutePoints = number[];

export interface FlatLayout {
  x: number[];
  y: number[];
  width: number;
  height: number;
  // By edge; null for an edge from a node to itself.
  routes: Array<RoutePoints | null>;
}

export interface Spacing {
  column: number;
  row: number;
  dummy: number;
  gutter: number;
}
