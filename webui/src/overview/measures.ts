// What the overview shows of a module in a step.

// In the order of the page.
export const MEASURES = ['activation', 'gradient', 'update', 'zeros', 'non_finite', 'time'] as const;
export type Measure = (typeof MEASURES)[number];

// How the values of the modules in a group become one: norms add up to that of the whole, and of
// changes the largest one counts.
export type Combination = 'mean' | 'norm' | 'largest' | 'sum';

export const COMBINATIONS: Record<Measure, Combination> = {
  activation: 'mean',
  gradient: 'norm',
  update: 'largest',
  zeros: 'mean',
  non_finite: 'sum',
  time: 'sum',
};

export function isLogarithmic(measure: Measure): boolean {
  return measure !== 'zeros' && measure !== 'non_finite';
}
