// Where an axis has its ticks, and where values lie on it.

export interface Scale {
  // The share of the axis, 0 … 1, that lies before a value.
  place: (value: number) => number;
  ticks: number[];
}

// 1, 2 or 5 times a power of ten, so that there are at most about `most` steps.
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
    // 3 * 0.1 is not 0.3 otherwise.
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return { place: (value) => (value - from) / (to - from), ticks };
}

// Powers of ten; `low` and `high` have to be above 0.
export function logScale(low: number, high: number, most: number): Scale {
  const from = Math.floor(Math.log10(low) + 1e-9);
  const to = Math.max(from + 1, Math.ceil(Math.log10(high) - 1e-9));
  const every = Math.max(1, Math.ceil((to - from) / most));
  const ticks: number[] = [];
  for (let power = from; power <= to; power += every) ticks.push(10 ** power);
  return { place: (value) => (Math.log10(value) - from) / (to - from), ticks };
}
