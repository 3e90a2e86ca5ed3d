import { describe, expect, it } from 'vitest';
import { cellAt, fitView, panView, revealCell, zoomView } from './heat_view';

const SIZE = { width: 400, height: 200 };

describe('a heat map’s view', () => {
  it('fills the width at first and shows all rows, with rows of a bearable height', () => {
    expect(fitView(1000, 1000, SIZE)).toMatchObject({ across: 0.4, down: 0.2 });
    expect(fitView(4, 2, SIZE)).toMatchObject({ across: 100, down: 30, x: 0 });
    expect(fitView(10, 64, { width: 575, height: 160 })).toMatchObject({ across: 57.5, down: 2.5 });
  });

  it('zooms a long, thin tensor', () => {
    const whole = fitView(4, 1000, SIZE);
    expect(zoomView(whole, 10, 0, 0, 4, 1000, SIZE)).toMatchObject({ across: 100, down: 2 });
    expect(zoomView(whole, 1e9, 0, 0, 4, 1000, SIZE)).toMatchObject({ across: 100, down: 64 });
  });

  it('zooms about the pointer, between the whole and legible cells', () => {
    const whole = fitView(1000, 1000, SIZE);
    const near = zoomView(whole, 4, 100, 50, 1000, 1000, SIZE);
    expect(cellAt(near, 100, 50, 1000, 1e6)).toBe(cellAt(whole, 100, 50, 1000, 1e6));
    expect(zoomView(near, 1e-9, 0, 0, 1000, 1000, SIZE)).toEqual(whole);
    expect(zoomView(near, 1e9, 0, 0, 1000, 1000, SIZE).across).toBe(64);
  });

  it('stays inside', () => {
    const near = zoomView(fitView(1000, 1000, SIZE), 10, 0, 0, 1000, 1000, SIZE);
    expect(panView(near, 1e6, 1e6, 1000, 1000, SIZE)).toMatchObject({ x: 0, y: 0 });
    const end = panView(near, -1e6, -1e6, 1000, 1000, SIZE);
    expect(end.x).toBeCloseTo(1000 - 400 / near.across);
  });

  it('comes to a cell, and knows which is under the pointer', () => {
    const near = zoomView(fitView(100, 100, SIZE), 10, 0, 0, 100, 100, SIZE);
    const there = revealCell(near, 5050, 100, 100, SIZE);
    const x = (50 - there.x) * there.across + 1;
    const y = (50 - there.y) * there.down + 1;
    expect(x).toBeLessThan(SIZE.width);
    expect(cellAt(there, x, y, 100, 10_000)).toBe(5050);
    expect(revealCell(there, 5050, 100, 100, SIZE)).toBe(there);
    const small = fitView(2, 2, SIZE);
    expect(cellAt(small, 1, 1, 2, 4)).toBeNull();
  });
});
