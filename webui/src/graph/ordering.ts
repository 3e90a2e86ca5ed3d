// The order within rows: barycentre sweeps, best kept.

import type { Items } from './items';

const SWEEPS = 6;

function positionsOf(rows: number[][], count: number): Float64Array {
  const position = new Float64Array(count);
  for (const row of rows) row.forEach((item, place) => (position[item] = place));
  return position;
}

// Inversions among the lower ends of edges sorted by their upper ends.
function crossingsBetween(
  upper: number[],
  lower: number[],
  down: number[][],
  position: Float64Array,
): number {
  const ends: number[] = [];
  for (const item of upper) {
    const places = (down[item] as number[]).map((to) => position[to] as number);
    ends.push(...places.sort((a, b) => a - b));
  }
  const tree = new Int32Array(lower.length + 1);
  let crossings = 0;
  for (let seen = 0; seen < ends.length; seen += 1) {
    const place = (ends[seen] as number) + 1;
    let notAfter = 0;
    for (let i = place; i > 0; i -= i & -i) notAfter += tree[i] as number;
    crossings += seen - notAfter;
    for (let i = place; i < tree.length; i += i & -i) tree[i] = (tree[i] as number) + 1;
  }
  return crossings;
}

export function countCrossings(rows: number[][], down: number[][], count: number): number {
  const position = positionsOf(rows, count);
  let total = 0;
  for (let layer = 0; layer + 1 < rows.length; layer += 1) {
    total += crossingsBetween(
      rows[layer] as number[],
      rows[layer + 1] as number[],
      down,
      position,
    );
  }
  return total;
}

// Sorts a row by the mean place of its neighbours; items without any stay put.
function sweepRow(row: number[], neighbours: number[][], position: Float64Array): void {
  const wanted = new Map<number, number>();
  for (const item of row) {
    const near = neighbours[item] as number[];
    const sum = near.reduce((total, other) => total + (position[other] as number), 0);
    wanted.set(item, near.length === 0 ? (position[item] as number) : sum / near.length);
  }
  row.sort(
    (a, b) =>
      (wanted.get(a) as number) - (wanted.get(b) as number) ||
      (position[a] as number) - (position[b] as number),
  );
  row.forEach((item, place) => (position[item] = place));
}

export function orderLayers(items: Items): void {
  const count = items.layer.length;
  const rows = items.rows.map((row) => [...row]);
  let best = countCrossings(rows, items.down, count);
  for (let sweep = 0; sweep < SWEEPS && best > 0; sweep += 1) {
    const position = positionsOf(rows, count);
    if (sweep % 2 === 0) {
      for (let i = 1; i < rows.length; i += 1) sweepRow(rows[i] as number[], items.up, position);
    } else {
      for (let i = rows.length - 2; i >= 0; i -= 1) {
        sweepRow(rows[i] as number[], items.down, position);
      }
    }
    const crossings = countCrossings(rows, items.down, count);
    if (crossings < best) {
      best = crossings;
      items.rows = rows.map((row) => [...row]);
    }
  }
}
