import { describe, expect, it } from 'vitest';
import { heatTable, paintWindow, reduceLevel, type HeatColours } from './heat_pixels';

const rgb = (r: number, g: number, b: number) => ({ r, g, b });
const COLOURS: HeatColours = {
  ground: rgb(0, 0, 0),
  positive: rgb(0, 200, 0),
  negative: rgb(200, 0, 0),
  nan: rgb(1, 2, 3),
  inf: rgb(4, 5, 6),
  neg_inf: rgb(7, 8, 9),
};

function levelOf(values: number[], columns: number) {
  return {
    rows: Math.ceil(values.length / columns),
    columns,
    values: new Float32Array(values),
    count: values.length,
  };
}

function paint(values: number[], columns: number, scale: number) {
  const level = levelOf(values, columns);
  const pixels = new Uint32Array(level.rows * columns);
  const window = { row: 0, column: 0, rows: level.rows, columns };
  paintWindow(level, window, scale, heatTable(COLOURS), pixels);
  return Array.from(pixels, (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255]);
}

describe('pixels', () => {
  it('diverge from zero, and what is not finite has colours of its own', () => {
    expect(paint([4, -1, 0, NaN, Infinity, -Infinity], 6, 4)).toEqual([
      [0, 200, 0],
      [100, 0, 0],
      [0, 0, 0],
      [1, 2, 3],
      [4, 5, 6],
      [7, 8, 9],
    ]);
  });

  it('are as strong as they get beyond the scale, and plain without one', () => {
    expect(paint([9, -9], 2, 4)).toEqual([[0, 200, 0], [200, 0, 0]]);
    expect(paint([0, 0], 2, 0)).toEqual([[0, 0, 0], [0, 0, 0]]);
  });

  it('are absent behind the last element', () => {
    const level = levelOf([1, 1, 1], 2);
    const pixels = new Uint32Array(4).fill(7);
    paintWindow(level, { row: 0, column: 0, rows: 2, columns: 2 }, 1, heatTable(COLOURS), pixels);
    expect(pixels[3]).toBe(0);
  });
});

describe('blocks', () => {
  it('show their largest value, and never lose a NaN or an infinity', () => {
    const level = levelOf([1, -5, 2, Infinity, 3, 4, NaN, -Infinity, 6, 0], 4);
    const reduced = reduceLevel(level, 2, 2);
    expect(reduced).toMatchObject({ rows: 2, columns: 2 });
    expect([...reduced.values]).toEqual([-5, NaN, 6, 0]);
    expect([...reduceLevel(level, 4, 1).values]).toEqual([Infinity, NaN, 6]);
    expect(reduceLevel(level, 1, 1)).toBe(level);
  });
});
