// The pixels of a heat map: turns values into colours, one pixel for each cell in view.

import { strengthOf } from './grid_data';

export interface Rgb {
  r: number;
  g: number;
  b: number;
}

export interface HeatColours {
  ground: Rgb;
  positive: Rgb;
  negative: Rgb;
  nan: Rgb;
  inf: Rgb;
  neg_inf: Rgb;
}

// The layout of ImageData on little-endian machines, the only ones that browsers run on.
function pack({ r, g, b }: Rgb): number {
  return ((255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;
}

export function mix(from: Rgb, to: Rgb, share: number): Rgb {
  const between = (a: number, b: number) => a + (b - a) * share;
  return { r: between(from.r, to.r), g: between(from.g, to.g), b: between(from.b, to.b) };
}

// Shades on each side of zero, enough to keep the steep start of the square root smooth.
const SHADES = 2048;

export interface HeatTable {
  // From the strongest negative shade to the strongest positive one, with zero in the middle.
  shades: Uint32Array;
  nan: number;
  inf: number;
  neg_inf: number;
  // The colour of pixels outside the tensor.
  nothing: number;
}

export function heatTable(colours: HeatColours): HeatTable {
  const shades = Uint32Array.from({ length: 2 * SHADES + 1 }, (_, i) => {
    const share = (i - SHADES) / SHADES;
    const end = share < 0 ? colours.negative : colours.positive;
    return pack(mix(colours.ground, end, Math.sqrt(Math.abs(share))));
  });
  return {
    shades,
    nan: pack(colours.nan),
    inf: pack(colours.inf),
    neg_inf: pack(colours.neg_inf),
    nothing: 0,
  };
}

export interface HeatLevel {
  rows: number;
  columns: number;
  values: Float32Array | Float64Array;
  // Number of values; the last row may be shorter.
  count: number;
}

// Combines blocks of cells if cells are smaller than pixels. A block has the value with the
// largest magnitude, or NaN if it has one, so that no NaN becomes invisible.
export function reduceLevel(level: HeatLevel, across: number, down: number): HeatLevel {
  if (across === 1 && down === 1) return level;
  const columns = Math.ceil(level.columns / across);
  const rows = Math.ceil(level.rows / down);
  const exact = level.values instanceof Float64Array;
  const values = new (exact ? Float64Array : Float32Array)(rows * columns);
  const whole = level.columns;
  for (let r = 0; r < level.rows; r += 1) {
    let at = Math.floor(r / down) * columns;
    let left = across;
    const from = r * whole;
    const end = Math.min(whole, level.count - from);
    for (let c = 0; c < end; c += 1) {
      const value = level.values[from + c] as number;
      // Comparisons with NaN are false, so a NaN in `values` is never replaced.
      if (value !== value || Math.abs(value) > Math.abs(values[at] as number)) values[at] = value;
      left -= 1;
      if (left > 0) continue;
      left = across;
      at += 1;
    }
  }
  return { rows, columns, values, count: values.length };
}

export interface Window {
  row: number;
  column: number;
  rows: number;
  columns: number;
}

export function paintWindow(
  level: HeatLevel,
  window: Window,
  scale: number,
  table: HeatTable,
  pixels: Uint32Array,
): void {
  const { shades, nothing } = table;
  const { values, columns, count } = level;
  const factor = scale > 0 ? SHADES / scale : 0;
  for (let r = 0; r < window.rows; r += 1) {
    const from = (window.row + r) * columns + window.column;
    const to = r * window.columns;
    for (let c = 0; c < window.columns; c += 1) {
      if (from + c >= count) {
        pixels[to + c] = nothing;
        continue;
      }
      const value = values[from + c] as number;
      const shade = value * factor + SHADES;
      // Also false for NaN and for infinities, since 0 times an infinity is NaN.
      pixels[to + c] =
        shade >= 0 && shade <= 2 * SHADES
          ? (shades[(shade + 0.5) | 0] as number)
          : colourBeyondScale(value, table);
    }
  }
}

// The colour of a value that is not finite or is beyond the scale.
function colourBeyondScale(value: number, { shades, nan, inf, neg_inf }: HeatTable): number {
  if (value !== value) return nan;
  if (value === Infinity) return inf;
  if (value === -Infinity) return neg_inf;
  return shades[value < 0 ? 0 : 2 * SHADES] as number;
}

// True if the cell's colour is so strong that its text needs the inverse colour.
export function isStrong(value: number, scale: number): boolean {
  return strengthOf(value, scale) > 0.55;
}
