// Horizontal positions: the items of a row keep their order and are placed as close as possible to
// their neighbours in the rows above and below.

import type { Adjacency } from './adjacency';
import type { Spacing } from './flat_types';
import type { Items } from './items';

const PASSES = 8;

// Isotonic regression of the first `count` values: minimises the weighted squares of
// x[i] - wanted[i] subject to x[i + 1] - x[i] >= gap[i], by pooling adjacent violators in linear
// time.
export class Isotonic {
  private sum = new Float64Array(0);
  private mass = new Float64Array(0);
  private size = new Int32Array(0);

  solve(count: number, wanted: Float64Array, weight: Float64Array, gap: Float64Array, result: Float64Array): void {
    if (count > this.sum.length) {
      this.sum = new Float64Array(2 * count);
      this.mass = new Float64Array(2 * count);
      this.size = new Int32Array(2 * count);
    }
    const { sum, mass, size } = this;
    let blocks = 0;
    let reach = 0;
    for (let i = 0; i < count; i += 1) {
      let blockSum = ((wanted[i] as number) - reach) * (weight[i] as number);
      let blockMass = weight[i] as number;
      let blockSize = 1;
      reach += gap[i] as number;
      while (blocks > 0 && (sum[blocks - 1] as number) * blockMass > blockSum * (mass[blocks - 1] as number)) {
        blocks -= 1;
        blockSum += sum[blocks] as number;
        blockMass += mass[blocks] as number;
        blockSize += size[blocks] as number;
      }
      sum[blocks] = blockSum;
      mass[blocks] = blockMass;
      size[blocks] = blockSize;
      blocks += 1;
    }
    let at = 0;
    let offset = 0;
    for (let block = 0; block < blocks; block += 1) {
      const level = (sum[block] as number) / (mass[block] as number);
      for (let i = 0; i < (size[block] as number); i += 1) {
        result[at] = level + offset;
        offset += gap[at] as number;
        at += 1;
      }
    }
  }
}

// By position in `order`: the distance to the next item of the row.
function gapsOf(items: Items, spacing: Spacing): Float64Array {
  const gaps = new Float64Array(items.count);
  for (let row = 0; row + 1 < items.rowStart.length; row += 1) {
    const end = items.rowStart[row + 1] as number;
    for (let i = items.rowStart[row] as number; i + 1 < end; i += 1) {
      const a = items.order[i] as number;
      const b = items.order[i + 1] as number;
      const space = a >= items.nodes && b >= items.nodes ? spacing.dummy : spacing.column;
      gaps[i] = (items.right[a] as number) + (items.left[b] as number) + space;
    }
  }
  return gaps;
}

// The weight of a link. Links between dummies weigh most, so that long edges run straight.
function pull(items: Items, a: number, b: number): number {
  if (a >= items.nodes) return b >= items.nodes ? 8 : 2;
  return b >= items.nodes ? 2 : 1;
}

class Settler {
  private readonly isotonic = new Isotonic();
  private readonly wanted: Float64Array;
  private readonly weight: Float64Array;
  private readonly result: Float64Array;

  constructor(
    private readonly items: Items,
    private readonly gaps: Float64Array,
  ) {
    this.wanted = new Float64Array(items.count);
    this.weight = new Float64Array(items.count);
    this.result = new Float64Array(items.count);
  }

  settle(row: number, first: Adjacency, second: Adjacency | null): void {
    const { items, gaps, wanted, weight, result } = this;
    const begin = items.rowStart[row] as number;
    const end = items.rowStart[row + 1] as number;
    for (let i = begin; i < end; i += 1) {
      const item = items.order[i] as number;
      let sum = 0;
      let mass = 0;
      for (let side: Adjacency | null = first; side !== null; side = side === first ? second : null) {
        for (let k = side.start[item] as number; k < (side.start[item + 1] as number); k += 1) {
          const other = side.others[k] as number;
          const force = pull(items, item, other);
          sum += (items.x[other] as number) * force;
          mass += force;
        }
      }
      wanted[i - begin] = mass === 0 ? (items.x[item] as number) : sum / mass;
      weight[i - begin] = mass === 0 ? 0.05 : mass;
    }
    this.isotonic.solve(end - begin, wanted, weight, gaps.subarray(begin, end), result);
    for (let i = begin; i < end; i += 1) items.x[items.order[i] as number] = result[i - begin] as number;
  }
}

export function placeX(items: Items, spacing: Spacing): void {
  const gaps = gapsOf(items, spacing);
  const rows = items.rowStart.length - 1;
  for (let row = 0; row < rows; row += 1) {
    const begin = items.rowStart[row] as number;
    const end = items.rowStart[row + 1] as number;
    let width = 0;
    for (let i = begin; i < end; i += 1) width += gaps[i] as number;
    let x = -width / 2;
    for (let i = begin; i < end; i += 1) {
      items.x[items.order[i] as number] = x;
      x += gaps[i] as number;
    }
  }
  const settler = new Settler(items, gaps);
  for (let pass = 0; pass < PASSES; pass += 1) {
    const both = pass >= PASSES - 2;
    if (pass % 2 === 0) {
      for (let i = 0; i < rows; i += 1) settler.settle(i, items.up, both ? items.down : null);
    } else {
      for (let i = rows - 1; i >= 0; i -= 1) settler.settle(i, items.down, both ? items.up : null);
    }
  }
}
