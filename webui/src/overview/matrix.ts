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

// What is measured of the members in a step; NaN if nothing is.
export function combineAt({ modules, values }: Matrix, members: readonly number[], how: Combination, step: number): number {
  const row = step * modules;
  if (members.length === 1) return values[row + (members[0] as number)] ?? NaN;
  let [sum, squares, largest, count] = [0, 0, -Infinity, 0];
  for (const member of members) {
    const value = values[row + member] as number;
    if (value !== value) continue;
    count += 1;
    sum += value;
    squares += value * value;
    if (value > largest) largest = value;
  }
  if (count === 0) return NaN;
  if (how === 'mean') return sum / count;
  if (how === 'norm') return Math.sqrt(squares);
  return how === 'sum' ? sum : largest;
}

// The same for each step.
export function combine(matrix: Matrix, members: readonly number[], how: Combination): Float32Array {
  const result = new Float32Array(matrix.steps);
  for (let step = 0; step < result.length; step += 1) result[step] = combineAt(matrix, members, how, step);
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

// Writes the level of each value. `bad` has the counts of values that are not finite.
export function writeLevels(values: Float32Array, bad: Float32Array, { logarithmic, low, high }: Range, levels: Uint8Array): void {
  const place = logarithmic ? Math.log2 : (value: number) => value;
  const from = place(low);
  const factor = (LAST_LEVEL - FIRST_LEVEL) / (place(high) - from);
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as number;
    if ((bad[i] as number) > 0 || value === Infinity || value === -Infinity) levels[i] = NOT_FINITE;
    else if (value !== value) levels[i] = NOT_MEASURED;
    // The logarithm of zero is below all others.
    else levels[i] = Math.min(LAST_LEVEL, Math.max(FIRST_LEVEL, Math.round(FIRST_LEVEL + (place(value) - from) * factor)));
  }
}
