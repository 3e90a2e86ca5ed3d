// Ticks of an axis and positions of values on it.

export interface Scale {
  // Position of a value on the axis, from 0 to 1.
  place: (value: number) => number;
  ticks: number[];
}

// Returns 1, 2 or 5 times a power of ten, so that the range has at most about `most` steps.
export function niceStep(range: number, most: number): number {
  const rough = range / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((f) => f * power >= rough * (1 - 1e-9)) ?? 10;
  return factor * power;
}

export function linearScale(low: number, high: number, most: number): Scale {
  const [from, to] = low === high ? [low - Math.max(1, Math.abs(low)) / 2, high + Math.max(1, Math.abs(high)) / 2] : [low, high];
  const step = niceStep(to - from, most);
  const ticks: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i += 1) {
    // Rounded, because 3 * 0.1 is not 0.3.
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return { place: (value) => (value - from) / (to - from), ticks };
}

// Ticks at powers of ten. `low` and `high` must be positive.
export function logScale(low: number, high: number, most: number): Scale {
  const from = Math.floor(Math.log10(low) + 1e-9);
  const to = Math.max(from + 1, Math.ceil(Math.log10(high) - 1e-9));
  const every = Math.max(1, Math.ceil((to - from) / most));
  const ticks: number[] = [];
  for (let power = from; power <= to; power += every) ticks.push(10 ** power);
  return { place: (value) => (Math.log10(value) - from) / (to - from), ticks };
}
