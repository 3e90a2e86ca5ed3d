// Arranges a slice of any rank in rows and columns, and computes the index of each cell.

import type { Elements } from '../base/elements';
import { formatNumber } from '../base/format';
import { classify, type NumberClass } from '../base/numbers';
import type { AxisRange } from '../base/slice';
import { cellMarks } from '../words/tensor';

export interface GridData {
  rows: number;
  columns: number;
  // Number of elements, in row-major order. The last row of a wrapped vector may be shorter.
  count: number;
  // True for a vector that is wrapped into rows of `columns` elements.
  wrapped: boolean;
  elements: Elements;
  numbers: Float32Array | Float64Array;
  // Largest absolute value of the finite elements, which gets full colour.
  scale: number;
  special: { nan: number; inf: number; neg_inf: number };
}

// Longer vectors are wrapped into rows, as in a hex dump.
const MAX_VECTOR_ROW = 16;
const VECTOR_COLUMNS = 10;

function layoutOf(shape: readonly number[], count: number, square: boolean) {
  const wrapped = shape.length === 1 && count > MAX_VECTOR_ROW;
  const columns = wrapped
    ? square
      ? Math.ceil(Math.sqrt(count))
      : VECTOR_COLUMNS
    : (shape.at(-1) ?? 1);
  const rows = columns === 0 ? 0 : Math.ceil(count / columns);
  return { wrapped, columns, rows };
}

// `square`: wraps a vector into a square, for the heat map.
export function gridOf(elements: Elements, shape: readonly number[], square = false): GridData {
  const { numbers, count } = elements;
  let scale = 0;
  const special = { nan: 0, inf: 0, neg_inf: 0 };
  for (let i = 0; i < count; i += 1) {
    const value = numbers[i] as number;
    const size = value < 0 ? -value : value;
    if (size > scale && size !== Infinity) scale = size;
    else if (size !== size) special.nan += 1;
    else if (value === Infinity) special.inf += 1;
    else if (value === -Infinity) special.neg_inf += 1;
  }
  return { ...layoutOf(shape, count, square), count, elements, numbers, scale, special };
}

export interface Cell {
  text: string;
  kind: NumberClass;
  // Intensity of the cell's colour, from 0 to 1.
  strength: number;
}

const SPECIAL_TEXT: Partial<Record<NumberClass, string>> = {
  nan: cellMarks.nan,
  inf: cellMarks.inf,
  'neg-inf': cellMarks.neg_inf,
};

// The intensity of a value's colour. The square root keeps small values visible beside large
// ones.
export function strengthOf(value: number, scale: number): number {
  const share = scale === 0 ? 0 : Math.abs(value) / scale;
  return Number.isFinite(share) ? Math.min(1, Math.sqrt(share)) : 0;
}

export function cellOf(grid: GridData, index: number, scale = grid.scale): Cell {
  const value = grid.numbers[index] ?? NaN;
  const { dtype } = grid.elements;
  if (dtype === 'bool') {
    const kind = value === 0 ? 'zero' : 'positive';
    return { text: grid.elements.text(index), kind, strength: value === 0 ? 0 : 0.4 };
  }
  const kind = classify(value);
  const plain = dtype.startsWith('complex') ? grid.elements.text(index) : formatNumber(value, 4);
  return { text: SPECIAL_TEXT[kind] ?? plain, kind, strength: strengthOf(value, scale) };
}

// The next cell after `from` that is not finite, wrapping around; -1 if there is none.
export function nextSpecial(grid: GridData, from: number): number {
  for (let i = 1; i <= grid.count; i += 1) {
    const at = (from + i) % grid.count;
    if (!Number.isFinite(grid.numbers[at])) return at;
  }
  return -1;
}

// The labels of rows and columns: the tensor's own indices. For a wrapped vector, the index
// of each row's first element and the offset of each column.
export function axisLabels(
  axes: readonly AxisRange[],
  wrap: number | null = null,
): {
  row: (row: number) => string;
  column: (column: number) => string;
} {
  const free = axes.filter((axis) => !axis.dropped);
  const last = free.at(-1);
  const outer = free.slice(0, -1);
  const place = (axis: AxisRange, i: number) => String(axis.start + i * axis.step);
  if (wrap !== null && last !== undefined) {
    return {
      column: (column) => `+${column * last.step}`.replace('+-', '−'),
      row: (row) => place(last, row * wrap),
    };
  }
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

// The full index of a cell in its tensor, in NumPy's notation.
export function indexOfCell(axes: readonly AxisRange[], cell: number): string {
  const parts: number[] = [];
  let rest = cell;
  for (const axis of axes.toReversed()) {
    const i = axis.dropped || axis.count === 0 ? 0 : rest % axis.count;
    if (!axis.dropped) rest = Math.floor(rest / Math.max(1, axis.count));
    parts[axis.axis] = axis.start + i * axis.step;
  }
  return `[${parts.join(', ')}]`;
}
