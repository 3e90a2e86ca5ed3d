// What lies in a row: nodes, and the dummies that long edges pass through.

import type { FlatGraph, Spacing } from './flat';
import type { Layering } from './layers';

export interface Items {
  nodes: number;
  // By item: nodes first, then dummies.
  layer: number[];
  width: number[];
  // Neighbours in the row above and below.
  up: number[][];
  down: number[][];
  // Items from left to right, by row.
  rows: number[][];
  // By link: the items it passes, from its upper to its lower node.
  paths: number[][];
  // Centre, by item.
  x: number[];
}

function connect(items: Items, upper: number, lower: number): void {
  (items.down[upper] as number[]).push(lower);
  (items.up[lower] as number[]).push(upper);
}

function addDummy(items: Items, layer: number, width: number): number {
  const item = items.layer.push(layer) - 1;
  items.width.push(width);
  items.up.push([]);
  items.down.push([]);
  return item;
}

export function buildItems(graph: FlatGraph, layering: Layering, spacing: Spacing): Items {
  const count = graph.widths.length;
  const items: Items = {
    nodes: count,
    layer: Array.from(layering.layer),
    width: [...graph.widths],
    up: Array.from({ length: count }, () => []),
    down: Array.from({ length: count }, () => []),
    rows: Array.from({ length: layering.count }, () => []),
    paths: [],
    x: [],
  };
  // By source: its dummies by row below it.
  const trunks: number[][] = Array.from({ length: count }, () => []);
  for (const [from, to] of layering.links) {
    const trunk = trunks[from] as number[];
    const first = items.layer[from] as number;
    const span = (items.layer[to] as number) - first - 1;
    while (trunk.length < span) {
      const dummy = addDummy(items, first + trunk.length + 1, spacing.dummy);
      connect(items, trunk.at(-1) ?? from, dummy);
      trunk.push(dummy);
    }
    const before = span > 0 ? (trunk[span - 1] as number) : from;
    connect(items, before, to);
    items.paths.push([from, ...trunk.slice(0, span), to]);
  }
  items.layer.forEach((layer, item) => (items.rows[layer] as number[]).push(item));
  return items;
}
