// The steps of a recorded run, and how to move among them. Pure functions.

import type { RecordedStep, StatisticsPoint, TensorHistory } from '../api/types';
import { extent, toNumber } from '../base/numbers';

// Distinct step numbers, ascending. A step with passes of evaluation has several entries.
export function stepsOf(entries: readonly RecordedStep[]): number[] {
  const steps: number[] = [];
  for (const { step } of entries) if (steps.at(-1) !== step) steps.push(step);
  return steps;
}

// The index of the first step that is `step` or later.
function lowerBound(steps: readonly number[], step: number): number {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle] as number) < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The recorded step nearest to `step`, the earlier one of two; null if there is none.
export function nearestStep(steps: readonly number[], step: number): number | null {
  const at = lowerBound(steps, step);
  const [before, after] = [steps[at - 1], steps[at]];
  if (before === undefined || after === undefined) return after ?? before ?? null;
  return step - before <= after - step ? before : after;
}

// The recorded step `by` places after `step`, within the bounds; null if there is none.
export function moveStep(steps: readonly number[], step: number, by: number): number | null {
  if (steps.length === 0) return null;
  const at = lowerBound(steps, step);
  const exact = steps[at] === step;
  // From between two steps, one place forward is the later of them.
  const to = at + by - (!exact && by > 0 ? 1 : 0);
  return steps[Math.min(Math.max(to, 0), steps.length - 1)] ?? null;
}

// The nearest of the marked steps after (`by` 1) or before (-1) `step`; null if there is none.
export function nextMark(marks: readonly number[], step: number, by: 1 | -1): number | null {
  const at = lowerBound(marks, by > 0 ? step + 1 : step);
  return marks[by > 0 ? at : at - 1] ?? null;
}

// The nearest steps before and after `step` among those whose values were saved.
export function nearestSaved(saved: readonly number[], step: number): number[] {
  const [before, after] = [nextMark(saved, step, -1), nextMark(saved, step, 1)];
  return [before, after].filter((other) => other !== null);
}

// The points of a history. A bucket represents its first, least, greatest and last point.
export function pointsOf(history: Pick<TensorHistory, 'points' | 'buckets'>): StatisticsPoint[] {
  if (history.buckets === undefined || history.buckets.length === 0) return history.points;
  return history.buckets.flatMap(({ first, least, greatest, last }) => {
    const points = new Map([first, least, greatest, last].map((point) => [point.step, point]));
    return [...points.values()].sort((a, b) => a.step - b.step);
  });
}

export interface CurvePoint {
  step: number;
  value: number;
}

// The values of a one-element tensor, whose mean is its value.
export function curveOf(points: readonly StatisticsPoint[]): CurvePoint[] {
  return points.flatMap(({ step, statistics: { mean } }) => {
    const value = mean === null ? NaN : toNumber(mean);
    return Number.isFinite(value) ? [{ step, value }] : [];
  });
}

// An SVG path of the curve in a box of this size, over the steps from `first` to `last`.
export function curvePath(curve: readonly CurvePoint[], first: number, last: number, width: number, height: number): string {
  if (curve.length === 0) return '';
  const { low, high } = extent(curve.map(({ value }) => value));
  const span = high - low || 1;
  const steps = last - first || 1;
  return curve
    .map(({ step, value }, i) => {
      const x = ((step - first) / steps) * width;
      const y = height - ((value - low) / span) * height;
      return `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join('');
}
