import { describe, expect, it } from 'vitest';
import type { RecordedStep, Statistics, StatisticsPoint } from '../api/types';
import { curveOf, curvePath, moveStep, nearestSaved, nearestStep, nextMark, pointsOf, stepsOf } from './timeline';

const STATISTICS: Statistics = {
  count: 1, nan_count: 0, pos_inf_count: 0, neg_inf_count: 0, zero_count: 0, negative_count: 0, positive_count: 1,
  min: 1, max: 1, mean: 1, abs_mean: 1, abs_max: 1, variance: 0, l1: 1, l2: 1,
};
const point = (step: number, mean: Statistics['mean'] = 1): StatisticsPoint => ({ step, statistics: { ...STATISTICS, mean } });
const entry = (step: number, mode: RecordedStep['mode']): RecordedStep => ({
  step, mode, mode_step: step, passes: 1, begin: null, seconds: null, records: 0, dropped: 0, reason: null, ranks: 1,
});

describe('steps of a recorded run', () => {
  it('are listed once, also with passes of evaluation', () => {
    expect(stepsOf([entry(1, 'train'), entry(2, 'train'), entry(2, 'eval'), entry(5, 'train')])).toEqual([1, 2, 5]);
  });

  it('are found by the nearest number, the earlier one of two', () => {
    expect(nearestStep([10, 20], 15)).toBe(10);
    expect(nearestStep([10, 20], 16)).toBe(20);
    expect(nearestStep([10, 20], 99)).toBe(20);
    expect(nearestStep([], 3)).toBeNull();
  });

  it('are reached one by one, also from between two', () => {
    const steps = [10, 20, 30];
    expect(moveStep(steps, 20, 1)).toBe(30);
    expect(moveStep(steps, 20, -1)).toBe(10);
    expect(moveStep(steps, 30, 1)).toBe(30);
    expect(moveStep(steps, 15, 1)).toBe(20);
    expect(moveStep(steps, 15, -1)).toBe(10);
    expect(moveStep([], 15, 1)).toBeNull();
  });

  it('with hits are found in both directions', () => {
    expect(nextMark([3, 7], 3, 1)).toBe(7);
    expect(nextMark([3, 7], 7, -1)).toBe(3);
    expect(nextMark([3, 7], 7, 1)).toBeNull();
    expect(nearestSaved([10, 20], 15)).toEqual([10, 20]);
    expect(nearestSaved([10], 15)).toEqual([10]);
  });
});

describe('histories of a recorded run', () => {
  it('keep the extremes of a bucket, in the order of their steps', () => {
    const bucket = { points: 9, first: point(1), least: point(4), greatest: point(2), last: point(9) };
    expect(pointsOf({ points: [], buckets: [bucket] }).map(({ step }) => step)).toEqual([1, 2, 4, 9]);
    expect(pointsOf({ points: [point(3)], buckets: [] }).map(({ step }) => step)).toEqual([3]);
  });

  it('become a curve without values that are not finite', () => {
    const curve = curveOf([point(1, 2), point(2, 'NaN'), point(3, null), point(5, 0)]);
    expect(curve).toEqual([{ step: 1, value: 2 }, { step: 5, value: 0 }]);
    expect(curvePath(curve, 1, 5, 100, 10)).toBe('M0.0 0.0L100.0 10.0');
    expect(curvePath([], 1, 5, 100, 10)).toBe('');
  });
});
