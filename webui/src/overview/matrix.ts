// The values of rows over steps, and the levels of colour for them.

import { isLogarithmic, type Combination, type Measure } from './measures';

// One measure of all modules: by step, then module. NaN: not measured.
export interface Matrix {
  modules: number;
  steps: number;
  values: Float32Array;
}

// Levels of colour. All values that are finite lie between the first and the last level, and
// what is not finite is above them, so that the largest level of some cells stands for them all.
export const NOT_MEASURED = 0;
export const FIRST_LEVEL = 1;
export const LAST_LEVEL = 254;
export const NOT_FINITE = 255;

// The same matrix by module, then step, which is the order in which rows are read.
export function byModule({ modules, steps, values }: Matrix): Float32Array {
  const result = new Float32Array(values.length);
  // In blocks that fit in the processor's cache.
  for (let first = 0; first < modules; first += BLOCK) {
    const end = Math.min(modules, first + BLOCK);
    for (let step = 0; step < steps; step += 1) {
      for (let module = first; module < end; module += 1) result[module * steps + step] = values[step * modules + module] as number;
    }
  }
  return result;
}

const BLOCK = 16;

// One value by step of what is measured of the members; NaN where nothing is. `columns` is a matrix
// by module, then step.
export function combine(columns: Float32Array, steps: number, members: readonly number[], how: Combination): Float32Array {
  const of = (member: number) => columns.subarray(member * steps, (member + 1) * steps);
  if (members.length === 1) return of(members[0] as number);
  const sums = new Float64Array(steps).fill(how === 'largest' ? -Infinity : 0);
  const counts = new Uint32Array(steps);
  for (const member of members) {
    const values = of(member);
    for (let step = 0; step < steps; step += 1) {
      const value = values[step] as number;
      if (value !== value) continue;
      counts[step] = (counts[step] as number) + 1;
      const before = sums[step] as number;
      if (how === 'largest') sums[step] = value > before ? value : before;
      else sums[step] = before + (how === 'norm' ? value * value : value);
    }
  }
  const result = new Float32Array(steps);
  for (let step = 0; step < steps; step += 1) {
    const [sum, count] = [sums[step] as number, counts[step] as number];
    if (count === 0) result[step] = NaN;
    else if (how === 'norm') result[step] = Math.sqrt(sum);
    else result[step] = how === 'mean' ? sum / count : sum;
  }
  return result;
}

// The range of values that is shown in different colours.
export interface Range {
  logarithmic: boolean;
  low: number;
  high: number;
}

const SAMPLES = 20_000;
const OUTSIDE = 0.005;

// Rounds a positive number to 1, 2 or 5 times a power of ten.
function round(value: number, up: boolean): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = value / power;
  const steps = up ? [1, 2, 5, 10].find((step) => step >= factor * (1 - 1e-6)) : [5, 2, 1].find((step) => step <= factor * (1 + 1e-6));
  return Number(((steps ?? 1) * power).toPrecision(1));
}

// The range of almost all positive values of a logarithmic measure; of the others, all that are possible.
export function rangeOf(measure: Measure, values: Float32Array): Range {
  if (!isLogarithmic(measure)) return { logarithmic: false, low: 0, high: 1 };
  const stride = Math.max(1, Math.floor(values.length / SAMPLES));
  const found: number[] = [];
  for (let i = 0; i < values.length; i += stride) {
    const value = values[i] as number;
    if (value > 0 && value < Infinity) found.push(value);
  }
  if (found.length === 0) return { logarithmic: true, low: 0.1, high: 1 };
  const sorted = Float64Array.from(found).sort();
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] as number;
  const [low, high] = [round(at(OUTSIDE), false), round(at(1 - OUTSIDE), true)];
  return { logarithmic: true, low, high: low === high ? low * 10 : high };
}

// The bits of a float, as an integer, grow with its logarithm: linearly between powers of two,
// which is close enough for colours.
const bitsOf = (values: Float32Array) => new Int32Array(values.buffer, values.byteOffset, values.length);

// Writes the level of each value. `bad` has the counts of values that are not finite.
export function writeLevels(values: Float32Array, bad: Float32Array, { logarithmic, low, high }: Range, levels: Uint8Array): void {
  const ends = Float32Array.of(low, high);
  const places = logarithmic ? bitsOf(values) : values;
  const [from = 0, to = 1] = logarithmic ? bitsOf(ends) : ends;
  const factor = (LAST_LEVEL - FIRST_LEVEL) / (to - from);
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as number;
    if ((bad[i] as number) > 0 || value === Infinity || value === -Infinity) levels[i] = NOT_FINITE;
    else if (value !== value) levels[i] = NOT_MEASURED;
    else {
      const level = FIRST_LEVEL + ((places[i] as number) - from) * factor;
      levels[i] = level < FIRST_LEVEL ? FIRST_LEVEL : level > LAST_LEVEL ? LAST_LEVEL : level + 0.5;
    }
  }
}
