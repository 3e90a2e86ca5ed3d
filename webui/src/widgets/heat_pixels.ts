// A heat map's pixels: values as colours, a pixel for each cell in view.

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

// As ImageData wants them, on the little-endian machines that browsers run on.
function pack({ r, g, b }: Rgb): number {
  return ((255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;
}

export function mix(from: Rgb, to: Rgb, share: number): Rgb {
  const between = (a: number, b: number) => a + (b - a) * share;
  return { r: between(from.r, to.r), g: between(from.g, to.g), b: between(from.b, to.b) };
}

const SHADES = 256;

export interface HeatTable {
  // From the strongest negative over zero, in the middle, to the strongest positive.
  shades: Uint32Array;
  nan: number;
  inf: number;
  neg_inf: number;
  // Outside the tensor.
  nothing: number;
}

export function heatTable(colours: HeatColours): HeatTable {
  const shades = Uint32Array.from({ length: 2 * SHADES + 1 }, (_, i) => {
    const share = (i - SHADES) / SHADES;
    const end = share < 0 ? colours.negative : colours.positive;
    return pack(mix(colours.ground, end, Math.abs(share)));
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
  // The last row may be shorter.
  count: number;
}

// Where cells are smaller than pixels, each stands for a block of them and shows its
// value of the largest size; NaN before all, so that none is lost from sight.
export function reduceLevel(level: HeatLevel, across: number, down: number): HeatLevel {
  if (across === 1 && down === 1) return level;
  const columns = Math.ceil(level.columns / across);
  const rows = Math.ceil(level.rows / down);
  const exact = level.values instanceof Float64Array;
  const values = new (exact ? Float64Array : Float32Array)(rows * columns);
  const whole = level.columns;
  for (let r = 0; r < level.rows; r += 1) {
    const to = Math.floor(r / down) * columns;
    const from = r * whole;
    const end = Math.min(whole, level.count - from);
    for (let c = 0; c < end; c += 1) {
      const value = level.values[from + c] as number;
      const at = to + Math.floor(c / across);
      const held = values[at] as number;
      // Comparisons with NaN are false: what is NaN stays.
      if (value !== value || Math.abs(value) > Math.abs(held)) values[at] = value;
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
  const { shades, nan, inf, neg_inf, nothing } = table;
  const { values, columns, count } = level;
  const factor = scale > 0 ? 1 / scale : 0;
  for (let r = 0; r < window.rows; r += 1) {
    const from = (window.row + r) * columns + window.column;
    const to = r * window.columns;
    for (let c = 0; c < window.columns; c += 1) {
      const value = values[from + c] as number;
      let pixel: number;
      if (from + c >= count) pixel = nothing;
      else if (value !== value) pixel = nan;
      else if (value === Infinity) pixel = inf;
      else if (value === -Infinity) pixel = neg_inf;
      else {
        const share = value * factor;
        const strength = Math.min(1, Math.sqrt(share < 0 ? -share : share));
        const shade = SHADES + Math.round((share < 0 ? -strength : strength) * SHADES);
        pixel = shades[shade] as number;
      }
      pixels[to + c] = pixel;
    }
  }
}

// The colour that a cell has, for its text to be legible on.
export function isStrong(value: number, scale: number): boolean {
  return strengthOf(value, scale) > 0.55;
}
