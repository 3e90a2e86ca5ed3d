import { describe, expect, it } from 'vitest';
import { defaultSlice, freeAxes, joinSlice, parseSlice, sliceItems, type SliceProblem } from './slice';

const SHAPE = [4, 3, 10];

function shapeOf(text: string, shape = SHAPE): number[] | SliceProblem {
  const result = parseSlice(text, shape);
  return result.ok ? result.shape : result.error;
}

describe('parseSlice', () => {
  it.each([
    ['', [4, 3, 10]],
    ['[]', [4, 3, 10]],
    ['[...]', [4, 3, 10]],
    ['[0]', [3, 10]],
    ['[0, 1, 2]', []],
    ['0, :, 2:5', [3, 3]],
    ['[..., -1]', [4, 3]],
    ['[1:3, ..., ::4]', [2, 3, 3]],
    ['[::-1]', [4, 3, 10]],
    ['[-2:]', [2, 3, 10]],
    ['[:, :, 8:100]', [4, 3, 2]],
    ['[5:2]', [0, 3, 10]],
    ['[0,]', [3, 10]],
    ['[:, :, 7:1:-2]', [4, 3, 3]],
  ])('%s gives the shape that NumPy gives', (text, shape) => expect(shapeOf(text)).toEqual(shape));

  it.each([
    ['[9]', { kind: 'out_of_bounds', index: 9, axis: 0, size: 4 }],
    ['[-5]', { kind: 'out_of_bounds', index: -5, axis: 0, size: 4 }],
    ['[0, 0, 0, 0]', { kind: 'too_many', given: 4, axes: 3 }],
    ['[..., 0, ...]', { kind: 'ellipses' }],
    ['[a]', { kind: 'not_a_range', text: 'a' }],
    ['[1:2:3:4]', { kind: 'not_a_range', text: '1:2:3:4' }],
    ['[::0]', { kind: 'zero_step' }],
    ['[0', { kind: 'bracket' }],
    ['[0,,1]', { kind: 'missing_index' }],
  ])('%s is refused', (text, error) => expect(shapeOf(text)).toEqual(error));

  it('knows where each row and column comes from', () => {
    const result = parseSlice('[-1, :, 8:2:-3]', SHAPE);
    expect(result).toMatchObject({
      axes: [
        { start: 3, dropped: true },
        { start: 0, step: 1, count: 3 },
        { start: 8, step: -3, count: 2 },
      ],
      count: 6,
    });
  });

  it('takes a scalar', () => {
    expect(shapeOf('', [])).toEqual([]);
    expect(shapeOf('[0]', [])).toEqual({ kind: 'too_many', given: 1, axes: 0 });
  });
});

describe('defaultSlice', () => {
  it('shows the last two axes at the start of the others', () => {
    expect(defaultSlice([64, 16, 8, 8])).toBe('[0, 0, :, :]');
    expect(defaultSlice([10])).toBe('[:]');
    expect(defaultSlice([])).toBe('[]');
  });

  it('never asks for more than fits', () => {
    for (const shape of [[9_000_000], [5000, 5000], [2, 3, 100_000, 100_000], [200_000, 10]]) {
      const result = parseSlice(defaultSlice(shape), shape);
      expect(result.ok && result.count).toBe(1_000_000);
    }
  });

  it('takes an axis of size 0', () => {
    expect(parseSlice(defaultSlice([0, 3, 4]), [0, 3, 4])).toMatchObject({ ok: true, count: 0 });
  });
});

describe('items', () => {
  it('write down every axis', () => {
    expect(sliceItems('[0, ..., 1:3]', [4, 5, 6, 7])).toEqual(['0', ':', ':', '1:3']);
    expect(sliceItems('', [4, 5])).toEqual([':', ':']);
    expect(sliceItems('[9]', [4, 5])).toBeNull();
  });

  it('free the axes that are picked, and fix the others', () => {
    expect(freeAxes(['0', '2', ':', '1:3'], [1, 3])).toEqual(['0', ':', '0', '1:3']);
    expect(joinSlice(freeAxes([':', ':', ':'], [0, 2]))).toBe('[:, 0, :]');
  });
});
