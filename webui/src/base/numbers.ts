// A float in the API. Values that JSON cannot represent are strings.
export type Num = number | 'NaN' | 'Infinity' | '-Infinity';

export function toNumber(raw: Num): number {
  if (typeof raw === 'number') return raw;
  if (raw === 'Infinity') return Infinity;
  if (raw === '-Infinity') return -Infinity;
  return NaN;
}

export type NumberClass = 'nan' | 'inf' | 'neg-inf' | 'zero' | 'positive' | 'negative';

export function classify(value: number): NumberClass {
  if (Number.isNaN(value)) return 'nan';
  if (value === Infinity) return 'inf';
  if (value === -Infinity) return 'neg-inf';
  if (value === 0) return 'zero';
  return value > 0 ? 'positive' : 'negative';
}

// The smallest and the largest value. Math.min() and Math.max() take only as many arguments as fit
// onto the stack, which are fewer than a long run has steps.
export function extent(values: readonly number[]): { low: number; high: number } {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return { low, high };
}
