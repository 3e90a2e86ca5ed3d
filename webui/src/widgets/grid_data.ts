// A slice of any rank as rows and columns of text, with the index of each cell.

import type { Nested, Scalar } from '../api/types';
import { formatNumber } from '../base/format';
import { classify, toNumber, type Num, type NumberClass } from '../base/numbers';
import type { AxisRange } from '../base/slice';

export interface GridData {
  rows: number;
  columns: number;
  // Row major.
  values: Scalar[];
  numbers: Float64Array;
  // Largest size among the finite ones: full colour.
  scale: number;
  special: { nan: number; inf: number; neg_inf: number };
}

function flatten(data: Nested, into: Scalar[]): void {
  if (Array.isArray(data)) for (const item of data) flatten(item, into);
  else into.push(data);
}

export function numberOf(value: Scalar): number {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'number') return value;
  return toNumber(value as Num);
}

export function gridOf(data: Nested, shape: readonly number[]): GridData {
  const values: Scalar[] = [];
  flatten(data, values);
  const columns = shape.at(-1) ?? 1;
  const rows = columns === 0 ? 0 : Math.floor(values.length / columns);
  const numbers = Float64Array.from(values, numberOf);
  let scale = 0;
  const special = { nan: 0, inf: 0, neg_inf: 0 };
  for (const value of numbers) {
    if (Number.isNaN(value)) special.nan += 1;
    else if (value === Infinity) special.inf += 1;
    else if (value === -Infinity) special.neg_inf += 1;
    else scale = Math.max(scale, Math.abs(value));
  }
  return { rows, columns, values, numbers, scale, special };
}

export interface Cell {
  text: string;
  kind: NumberClass;
  // 0 … 1: how strongly the cell is coloured.
  strength: number;
}

const SPECIAL_TEXT: Partial<Record<NumberClass, string>> = {
  nan: '✕ NaN',
  inf: '▲ Inf',
  'neg-inf': '▼ -Inf',
};

export function cellOf(grid: GridData, index: number): Cell {
  const raw = grid.values[index];
  const value = grid.numbers[index] ?? NaN;
  if (typeof raw === 'boolean') {
    return { text: String(raw), kind: raw ? 'positive' : 'zero', strength: raw ? 0.4 : 0 };
  }
  const kind = classify(value);
  const text = SPECIAL_TEXT[kind] ?? formatNumber(value, 4);
  const share = grid.scale === 0 ? 0 : Math.abs(value) / grid.scale;
  return { text, kind, strength: Number.isFinite(share) ? Math.sqrt(share) : 0 };
}

// The next cell after `from` that is not finite, round about; -1 if there is none.
export function nextSpecial(grid: GridData, from: number): number {
  const count = grid.numbers.length;
  for (let i = 1; i <= count; i += 1) {
    const at = (from + i) % count;
    if (!Number.isFinite(grid.numbers[at])) return at;
  }
  return -1;
}

// What stands before each row and column: the tensor's own indices.
export function axisLabels(axes: readonly AxisRange[]): {
  row: (row: number) => string;
  column: (column: number) => string;
} {
  const free = axes.filter((axis) => !axis.dropped);
  const last = free.at(-1);
  const outer = free.slice(0, -1);
  const place = (axis: AxisRange, i: number) => String(axis.start + i * axis.step);
  return {
    column: (column) => (last === undefined ? '' : place(last, column)),
    row: (row) => {
      const parts: string[] = [];
      let rest = row;
      for (const axis of outer.toReversed()) {
        parts.unshift(place(axis, axis.count === 0 ? 0 : rest % axis.count));
        rest = Math.floor(rest / Math.max(1, axis.count));
      }
      return parts.join(',');
    },
  };
}

// The full index of a cell in its tensor, as NumPy would print it.
export function indexOfCell(axes: readonly AxisRange[], cell: number): string {
  const parts: number[] = [];
  let rest = cell;
  for (const axis of axes.toReversed()) {
    const i = axis.dropped || axis.count === 0 ? 0 : rest % axis.count;
    if (!axis.dropped) rest = Math.floor(rest / Math.max(1, axis.count));
    parts.unshift(axis.start + i * axis.step);
  }
  return `[${parts.join(', ')}]`;
}
