import { describe, expect, it } from 'vitest';
import { linearScale, logScale, niceStep } from './ticks';

describe('scales', () => {
  it('have ticks at round numbers', () => {
    expect(linearScale(0.03, 0.97, 5).ticks).toEqual([0.2, 0.4, 0.6, 0.8]);
    expect(linearScale(-7, 12, 4).ticks).toEqual([-5, 0, 5, 10]);
    expect(linearScale(0, 0.3, 3).ticks).toEqual([0, 0.1, 0.2, 0.3]);
    expect([niceStep(9, 10), niceStep(11, 10), niceStep(0.003, 2)]).toEqual([1, 2, 0.002]);
  });

  it('place their ends at their ends', () => {
    const { place } = linearScale(-2, 6, 4);
    expect([place(-2), place(0), place(6)]).toEqual([0, 0.25, 1]);
  });

  it('have room around a single value', () => {
    expect(linearScale(5, 5, 4).place(5)).toBe(0.5);
    expect(linearScale(0, 0, 4).place(0)).toBe(0.5);
  });

  it('go by powers of ten if they are logarithmic', () => {
    const { place, ticks } = logScale(0.02, 800, 10);
    expect(ticks).toEqual([0.01, 0.1, 1, 10, 100, 1000]);
    expect(place(1)).toBeCloseTo(0.4);
    expect(logScale(1e-30, 1e30, 6).ticks).toHaveLength(7);
    expect(logScale(3, 3, 4).place(3)).toBeGreaterThan(0);
  });
});
