import { describe, expect, it } from 'vitest';
import { barsOf, lanesOf, opAt, opBefore, slowestOf, type Lane, type TimedOp } from './op_lanes';

const op = (start_us: number, duration_us: number, thread = 0): TimedOp => ({ node: `forward/${start_us}`, op_type: 'aten::mm', thread, start_us, duration_us });
const laneOf = (...ops: TimedOp[]) => lanesOf(ops)[0] as Lane;

describe('lanes', () => {
  it('have the ops of each thread by their begin', () => {
    const lanes = lanesOf([op(5, 1, 1), op(30, 2), op(10, 4), op(0, 1, 1)]);
    expect(lanes.map(({ thread, ops }) => [thread, [...ops]])).toEqual([[0, [2, 1]], [1, [3, 0]]]);
    expect([...(lanes[0] as Lane).ends]).toEqual([14, 32]);
    expect(lanesOf([])).toEqual([]);
  });
});

describe('bars', () => {
  it('are where the ops are, as far as they are in view', () => {
    const lane = laneOf(op(0, 10), op(20, 30), op(60, 10));
    expect(barsOf(lane, { from: 0, to: 100 }, 200)).toEqual([
      { x: 0, width: 20, place: 0, count: 1 },
      { x: 40, width: 60, place: 1, count: 1 },
      { x: 120, width: 20, place: 2, count: 1 },
    ]);
    expect(barsOf(lane, { from: 30, to: 60 }, 30)).toEqual([{ x: -10, width: 30, place: 1, count: 1 }]);
  });

  it('of ops in one pixel are one, which stands for the longest', () => {
    const lane = laneOf(op(0, 0.1), op(0.2, 0.3), op(0.6, 0.1), op(1.5, 0.1), op(2, 5));
    expect(barsOf(lane, { from: 0, to: 10 }, 10)).toEqual([
      { x: 0, width: 1, place: 1, count: 3 },
      { x: 1, width: 1, place: 3, count: 1 },
      { x: 2, width: 5, place: 4, count: 1 },
    ]);
  });

  it('are not more than pixels, however many ops there are', () => {
    const ops = Array.from({ length: 10_000 }, (_, i) => op(i * 10, 6));
    const bars = barsOf(laneOf(...ops), { from: 0, to: 100_000 }, 800);
    expect(bars.length).toBeLessThanOrEqual(800);
    expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(10_000);
  });
});

describe('the op under the pointer', () => {
  const lane = laneOf(op(10, 10), op(21, 1), op(23, 4), op(50, 10));

  it('is the one at this time, or the longest close to it', () => {
    expect(opAt(lane, 15, 0)).toBe(0);
    expect(opAt(lane, 22.5, 1)).toBe(2);
    expect(opAt(lane, 21.5, 100)).toBe(1);
    expect(opAt(lane, 40, 1)).toBe(-1);
    expect(opAt(lane, 99, 1)).toBe(-1);
  });

  it('is the last before a time for the keys', () => {
    expect(opBefore(lane, 49)).toBe(2);
    expect(opBefore(lane, 50)).toBe(3);
    expect(opBefore(lane, 0)).toBe(0);
  });
});

describe('the slowest ops', () => {
  it('come first', () => {
    expect(slowestOf([op(0, 3), op(5, 9), op(20, 1), op(30, 4)], 3)).toEqual([1, 3, 0]);
  });
});
