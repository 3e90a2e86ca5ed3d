// NumPy's basic indexing as typed by the user: "[0, :, 10:20, ...]". The server parses the
// slice again; parsing it here gives immediate error messages, labels of rows and columns, and
// an initial slice that is small enough to show.

export interface AxisRange {
  // Axis of the tensor.
  axis: number;
  start: number;
  step: number;
  count: number;
  // An integer index: the axis is not part of the result.
  dropped: boolean;
}

// Why a slice cannot be applied to a tensor.
export type SliceProblem =
  | { kind: 'not_a_range'; text: string }
  | { kind: 'out_of_bounds'; index: number; axis: number; size: number }
  | { kind: 'too_many'; given: number; axes: number }
  | { kind: 'missing_index' | 'zero_step' | 'bracket' | 'ellipses' };

export type SliceResult =
  | { ok: true; axes: AxisRange[]; shape: number[]; count: number }
  | { ok: false; error: SliceProblem };

const INTEGER = /^[+-]?\d+$/;

function parseBound(text: string): number | null | undefined {
  if (text === '') return null;
  return INTEGER.test(text) ? Number(text) : undefined;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}

// Equivalent to slice.indices(size) in Python.
function resolveRange(
  from: number | null,
  to: number | null,
  step: number,
  size: number,
): Omit<AxisRange, 'axis'> {
  const low = step > 0 ? 0 : -1;
  const high = step > 0 ? size : size - 1;
  const place = (bound: number | null, otherwise: number) =>
    bound === null ? otherwise : clamp(bound < 0 ? bound + size : bound, low, high);
  const start = place(from, step > 0 ? low : high);
  const stop = place(to, step > 0 ? high : low);
  const count = Math.max(0, Math.ceil((stop - start) / step));
  return { start, step, count, dropped: false };
}

function parseAxis(text: string, size: number, axis: number): Omit<AxisRange, 'axis'> | SliceProblem {
  const parts = text.split(':').map((part) => part.trim());
  const bounds = parts.map(parseBound);
  if (bounds.includes(undefined) || parts.length > 3) return { kind: 'not_a_range', text };
  if (parts.length === 1) {
    const index = bounds[0];
    if (index === null || index === undefined) return { kind: 'missing_index' };
    const place = index < 0 ? index + size : index;
    if (place < 0 || place >= size) {
      return { kind: 'out_of_bounds', index, axis, size };
    }
    return { start: place, step: 1, count: 1, dropped: true };
  }
  const step = bounds[2] ?? 1;
  if (step === 0) return { kind: 'zero_step' };
  return resolveRange(bounds[0] ?? null, bounds[1] ?? null, step, size);
}

function itemsOf(text: string): string[] | SliceProblem {
  let body = text.trim();
  const opens = body.startsWith('[');
  if (opens !== body.endsWith(']')) return { kind: 'bracket' };
  if (opens) body = body.slice(1, -1).trim();
  if (body === '') return [];
  const items = body.split(',').map((item) => item.trim());
  if (items.length > 1 && items.at(-1) === '') items.pop();
  return items;
}

export function parseSlice(text: string, shape: readonly number[]): SliceResult {
  const items = itemsOf(text);
  if (!Array.isArray(items)) return { ok: false, error: items };
  const dots = items.indexOf('...');
  if (dots >= 0 && items.includes('...', dots + 1)) {
    return { ok: false, error: { kind: 'ellipses' } };
  }
  const given = items.filter((item) => item !== '...').length;
  if (given > shape.length) {
    return { ok: false, error: { kind: 'too_many', given, axes: shape.length } };
  }
  const fill = Array<string>(shape.length - given).fill(':');
  const full =
    dots >= 0 ? [...items.slice(0, dots), ...fill, ...items.slice(dots + 1)] : [...items, ...fill];
  const axes: AxisRange[] = [];
  for (const [axis, item] of full.entries()) {
    const parsed = parseAxis(item, shape[axis] ?? 0, axis);
    if ('kind' in parsed) return { ok: false, error: parsed };
    axes.push({ axis, ...parsed });
  }
  const result = axes.filter((axis) => !axis.dropped).map((axis) => axis.count);
  return { ok: true, axes, shape: result, count: result.reduce((a, b) => a * b, 1) };
}

// Separates a final ".T", as in "[0, :, :].T". Only the page transposes slices.
export function splitSlice(text: string): { slice: string; transposed: boolean } {
  const slice = text.replace(/\.T\s*$/, '');
  return { slice, transposed: slice !== text };
}

// The number of elements of a slice; null if it is wrong.
export function elementsIn(slice: string, shape: readonly number[]): number | null {
  const parsed = parseSlice(slice, shape);
  return parsed.ok ? parsed.count : null;
}

// Limits of the initial slice, so that it is transferred and drawn without a noticeable wait.
const FIRST_ROWS = 1000;
export const FIRST_ELEMENTS = 1_000_000;

// The initial slice of a tensor: its last two axes, at index 0 of the others.
export function defaultSlice(shape: readonly number[]): string {
  return sliceAround(shape.map(() => 0), shape);
}

// The slice like the initial one that contains an element.
export function sliceAround(index: readonly number[], shape: readonly number[]): string {
  const range = (at: number, size: number, limit: number) => {
    if (size <= limit) return ':';
    const start = Math.floor(at / limit) * limit;
    return start === 0 ? `:${limit}` : `${start}:${Math.min(size, start + limit)}`;
  };
  const last = shape.at(-1) ?? 1;
  const columns = shape.length === 1 ? FIRST_ELEMENTS : FIRST_ROWS;
  const rows = Math.floor(FIRST_ELEMENTS / Math.max(1, Math.min(last, columns)));
  const items = shape.map((size, axis) => {
    const at = index[axis] ?? 0;
    const fromEnd = shape.length - axis;
    if (fromEnd > 2) return size > 0 ? String(at) : ':';
    return range(at, size, fromEnd === 2 ? rows : columns);
  });
  return `[${items.join(', ')}]`;
}

// The index of an element from its position in row-major order, and back.
export function indexOfPlace(place: number, shape: readonly number[]): number[] {
  const index: number[] = [];
  let rest = place;
  for (const size of shape.toReversed()) {
    index.unshift(rest % Math.max(1, size));
    rest = Math.floor(rest / Math.max(1, size));
  }
  return index;
}

export function placeOfIndex(index: readonly number[], shape: readonly number[]): number {
  return index.reduce((place, at, axis) => place * (shape[axis] ?? 1) + at, 0);
}

// Returns one item per axis, such as ":" or "3", with "..." and omitted axes expanded, or null
// for an invalid slice.
export function sliceItems(text: string, shape: readonly number[]): string[] | null {
  const items = itemsOf(text);
  if (!Array.isArray(items) || !parseSlice(text, shape).ok) return null;
  const dots = items.indexOf('...');
  const fill = Array<string>(shape.length - items.filter((item) => item !== '...').length).fill(':');
  return dots >= 0 ? [...items.slice(0, dots), ...fill, ...items.slice(dots + 1)] : [...items, ...fill];
}

export function joinSlice(items: readonly string[]): string {
  return `[${items.join(', ')}]`;
}

// Makes the axes in `free` ranges and fixes the others at their index, by default 0.
export function freeAxes(items: readonly string[], free: readonly number[]): string[] {
  return items.map((item, axis) => {
    const fixed = INTEGER.test(item);
    if (free.includes(axis)) return fixed ? ':' : item;
    return fixed ? item : '0';
  });
}
