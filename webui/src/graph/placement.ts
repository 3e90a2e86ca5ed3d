// Horizontal places: each row, in its order, as near as can be to where its
// neighbours want it.

import type { Items } from './items';
import type { Spacing } from './flat';

const PASSES = 8;

// Least squares: minimise the weighted squares of x[i] - wanted[i] under
// x[i + 1] - x[i] >= gap[i]. Pool adjacent violators, linear time.
export function isotonic(
  wanted: readonly number[],
  weight: readonly number[],
  gap: readonly number[],
): number[] {
  const blocks: Array<{ sum: number; weight: number; count: number }> = [];
  const offset: number[] = [];
  let reach = 0;
  wanted.forEach((value, i) => {
    offset.push(reach);
    let block = { sum: (value - reach) * (weight[i] as number), weight: weight[i] as number, count: 1 };
    reach += gap[i] ?? 0;
    for (
      let last = blocks.at(-1);
      last !== undefined && last.sum / last.weight > block.sum / block.weight;
      last = blocks.at(-1)
    ) {
      blocks.pop();
      block = {
        sum: last.sum + block.sum,
        weight: last.weight + block.weight,
        count: last.count + block.count,
      };
    }
    blocks.push(block);
  });
  const result: number[] = [];
  for (const block of blocks) {
    const level = block.sum / block.weight;
    for (let i = 0; i < block.count; i += 1) result.push(level + (offset[result.length] as number));
  }
  return result;
}

function gapsOf(row: number[], items: Items, spacing: Spacing): number[] {
  const gaps: number[] = [];
  for (let i = 0; i + 1 < row.length; i += 1) {
    const a = row[i] as number;
    const b = row[i + 1] as number;
    const space = a >= items.nodes && b >= items.nodes ? spacing.dummy : spacing.column;
    gaps.push(((items.width[a] as number) + (items.width[b] as number)) / 2 + space);
  }
  return gaps;
}

// Long edges should run straight: links between dummies pull hardest.
function pull(items: Items, a: number, b: number): number {
  const dummies = (a >= items.nodes ? 1 : 0) + (b >= items.nodes ? 1 : 0);
  return [1, 2, 8][dummies] as number;
}

function settleRow(row: number[], items: Items, gaps: number[], sides: number[][][]): void {
  const wanted: number[] = [];
  const weights: number[] = [];
  for (const item of row) {
    let sum = 0;
    let weight = 0;
    for (const side of sides) {
      for (const other of side[item] as number[]) {
        const force = pull(items, item, other);
        sum += (items.x[other] as number) * force;
        weight += force;
      }
    }
    wanted.push(weight === 0 ? (items.x[item] as number) : sum / weight);
    weights.push(weight === 0 ? 0.05 : weight);
  }
  isotonic(wanted, weights, gaps).forEach((x, i) => (items.x[row[i] as number] = x));
}

export function placeX(items: Items, spacing: Spacing): void {
  items.x = Array<number>(items.layer.length).fill(0);
  const gaps = items.rows.map((row) => gapsOf(row, items, spacing));
  items.rows.forEach((row, layer) => {
    const rowGaps = gaps[layer] as number[];
    let x = -rowGaps.reduce((sum, gap) => sum + gap, 0) / 2;
    row.forEach((item, i) => {
      items.x[item] = x;
      x += rowGaps[i] ?? 0;
    });
  });
  const settle = (layer: number, sides: number[][][]) =>
    settleRow(items.rows[layer] as number[], items, gaps[layer] as number[], sides);
  for (let pass = 0; pass < PASSES; pass += 1) {
    const both = pass >= PASSES - 2 ? [items.up, items.down] : null;
    if (pass % 2 === 0) {
      for (let i = 0; i < items.rows.length; i += 1) settle(i, both ?? [items.up]);
    } else {
      for (let i = items.rows.length - 1; i >= 0; i -= 1) settle(i, both ?? [items.down]);
    }
  }
}
