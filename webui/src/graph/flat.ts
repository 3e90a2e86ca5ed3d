// Layered layout of one flat graph, top to bottom.
//
//   order   producers first, else execution order; cycles are broken along it
//   layers  longest path; sources sink to just above their first consumer;
//           rows that are much too wide wrap
//   trunks  one chain of dummies per source, shared by all its long edges
//   sweeps  barycentre sweeps and exchanges of neighbours, the fewest crossings kept
//   x       least squares with fixed order in each layer (pool adjacent violators)
//   fold    a drawing that is much too tall is cut into columns
//
// Passes over typed arrays, linear or nearly so, and the same input always gives the
// same picture.

import { placeColumns } from './fold';
import { buildItems } from './items';
import { assignLayers } from './layers';
import { orderLayers } from './ordering';
import { placeX } from './placement';

export interface FlatGraph {
  widths: readonly number[];
  heights: readonly number[];
  // Pairs of node indices.
  edges: ReadonlyArray<readonly [number, number]>;
  // Wanted width / height; 0: as it comes, never cut into columns.
  aspect: number;
  // By node, room kept free at its left; absent: none.
  leftRoom?: readonly number[];
  // By node, room needed in its row if more than its height.
  rowHeights?: readonly number[];
}

// Points of an edge: x, y, mode; mode 0 is a smooth step down from the point before,
// 1 a straight line with a round corner, 2 a smooth step to the right.
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

export const SPACING: Spacing = { column: 26, row: 26, dummy: 8, gutter: 44 };

export function layoutFlat(graph: FlatGraph): FlatLayout {
  const layering = assignLayers(graph, SPACING);
  const items = buildItems(graph, layering, SPACING);
  orderLayers(items);
  placeX(items, SPACING);
  return placeColumns(graph, layering, items, SPACING);
}
