import { describe, expect, it } from 'vitest';
import { decodeElements } from '../base/elements';
import { parseSlice } from '../base/slice';
import { axisLabels, cellOf, gridOf as gridOfElements, indexOfCell, nextSpecial } from './grid_data';

function axesOf(slice: string, shape: number[]) {
  const parsed = parseSlice(slice, shape);
  if (!parsed.ok) throw new Error(parsed.error.kind);
  return parsed.axes;
}

function gridOf(values: number[], shape: number[], square = false) {
  const elements = decodeElements('float32', new Float32Array(values).buffer);
  return gridOfElements(elements!, shape, square);
}

describe('grids', () => {
  it('take any rank', () => {
    expect(gridOf([1.5], [])).toMatchObject({ rows: 1, columns: 1 });
    expect(gridOf([1, 2, 3], [3])).toMatchObject({ rows: 1, columns: 3 });
    expect(gridOf([1, 2, 3, 4], [2, 1, 2])).toMatchObject({ rows: 2, columns: 2 });
    expect(gridOf([], [0])).toMatchObject({ rows: 0 });
  });

  it('break long vectors into rows', () => {
    const values = Array.from({ length: 45 }, (_, i) => i);
    expect(gridOf(values, [45])).toMatchObject({ rows: 5, columns: 10, count: 45, wrapped: true });
    expect(gridOf(values, [45], true)).toMatchObject({ rows: 7, columns: 7, wrapped: true });
    expect(gridOf(values, [1, 45])).toMatchObject({ rows: 1, columns: 45, wrapped: false });
  });

  it('write truths as truths', () => {
    const grid = gridOfElements(decodeElements('bool', new Uint8Array([1, 0]).buffer)!, [2]);
    expect([0, 1].map((i) => cellOf(grid, i).text)).toEqual(['true', 'false']);
  });

  it('mark what is not finite by kind and by sign', () => {
    const grid = gridOf([NaN, Infinity, -Infinity, 0, -2, 1], [6]);
    const cells = [0, 1, 2, 3, 4, 5].map((i) => cellOf(grid, i));
    expect(cells.map((cell) => cell.kind)).toEqual(['nan', 'inf', 'neg-inf', 'zero', 'negative', 'positive']);
    expect(cells.map((cell) => cell.text)).toEqual(['✕ NaN', '▲ Inf', '▼ -Inf', '0', '-2', '1']);
    expect(grid.special).toEqual({ nan: 1, inf: 1, neg_inf: 1 });
  });

  it('colour by size, with the largest at full strength', () => {
    const grid = gridOf([4, -1, 0], [3]);
    expect(cellOf(grid, 0).strength).toBe(1);
    expect(cellOf(grid, 1).strength).toBe(0.5);
    expect(cellOf(grid, 2).strength).toBe(0);
  });

  it('go from one value that is not finite to the next, round about', () => {
    const grid = gridOf([1, NaN, 2, Infinity], [4]);
    expect(nextSpecial(grid, 0)).toBe(1);
    expect(nextSpecial(grid, 1)).toBe(3);
    expect(nextSpecial(grid, 3)).toBe(1);
    expect(nextSpecial(gridOf([1], [1]), 0)).toBe(-1);
  });
});

describe('labels', () => {
  it('are the indices of the tensor itself', () => {
    const labels = axisLabels(axesOf('[1, 2:4, 8:2:-3]', [4, 5, 10]));
    expect([labels.row(0), labels.row(1)]).toEqual(['2', '3']);
    expect([labels.column(0), labels.column(1)]).toEqual(['8', '5']);
  });

  it('name every outer axis of a row', () => {
    const labels = axisLabels(axesOf('[:, 1:3, :]', [2, 4, 6]));
    expect([0, 1, 2, 3].map(labels.row)).toEqual(['0,1', '0,2', '1,1', '1,2']);
  });

  it('of broken vectors say where each row begins', () => {
    const labels = axisLabels(axesOf('[5::2]', [99]), 10);
    expect([labels.row(0), labels.row(2)]).toEqual(['5', '45']);
    expect([labels.column(0), labels.column(3)]).toEqual(['+0', '+6']);
  });

  it('give a cell its full index', () => {
    const axes = axesOf('[1, 2:4, 8:2:-3]', [4, 5, 10]);
    expect(indexOfCell(axes, 0)).toBe('[1, 2, 8]');
    expect(indexOfCell(axes, 3)).toBe('[1, 3, 5]');
    expect(indexOfCell([], 0)).toBe('[]');
  });
});
