// Layered layout of one flat graph, from top to bottom.
//
//   order   producers first, else execution order; cycles are broken along this order
//   layers  longest path; sources sink to just above their first consumer;
//           rows that are much too wide wrap
//   trunks  one chain of dummies per source, shared by all its long edges
//   sweeps  barycentre sweeps and exchanges of neighbours; the order with the fewest
//           crossings wins
//   x       least squares with fixed order in each layer (pool adjacent violators)
//   fold    a drawing that is much too tall is cut into columns
//
// All passes work on typed arrays in linear or nearly linear time. The result is
// deterministic.

import type { FlatGraph, FlatLayout, Spacing } from './flat_types';
import { placeColumns } from './fold';
import { buildItems } from './items';
import { assignLayers } from './layers';
import { orderLayers } from './ordering';
import { placeX } from './placement';

export const SPACING: Spacing = { column: 26, row: 26, dummy: 8, gutter: 44 };

export function layoutFlat(graph: FlatGraph): FlatLayout {
  const layering = assignLayers(graph, SPACING);
  const items = buildItems(graph, layering, SPACING);
  orderLayers(items);
  placeX(items, SPACING);
  return placeColumns(graph, layering, items, SPACING);
}
