import { expect, it } from 'vitest';
import { indexOfPlace, parseSlice, placeOfIndex, sliceAround, type AxisRange } from '../base/slice';
import { placeAfter, specialFrom } from './special_search';

const SHAPE = [2, 3, 4, 5];

function axesOf(text: string): AxisRange[] {
  const parsed = parseSlice(text, SHAPE);
  if (!parsed.ok) throw new Error(text);
  return parsed.axes;
}

it('finds the next value that is not finite, and begins again at the end', () => {
  const values = [1, NaN, 2, Infinity];
  expect(specialFrom(values, 0)).toBe(1);
  expect(specialFrom(values, 2)).toBe(3);
  expect(specialFrom(values, 4)).toBe(1);
  expect(specialFrom([1, 2], 0)).toBe(-1);
});

it('goes on after the shown slice', () => {
  expect(placeAfter(axesOf('[0, 0, :, :]'), SHAPE)).toBe(20);
  expect(placeAfter(axesOf('[1, 2, :, :]'), SHAPE)).toBe(120);
});

it('shows the slice around an element', () => {
  expect(indexOfPlace(47, SHAPE)).toEqual([0, 2, 1, 2]);
  expect(placeOfIndex([0, 2, 1, 2], SHAPE)).toBe(47);
  expect(sliceAround([0, 2, 1, 2], SHAPE)).toBe('[0, 2, :, :]');
  expect(sliceAround([1, 5000, 2500], [4, 9000, 3000])).toBe('[1, 5000:6000, 2000:3000]');
  expect(sliceAround([0, 8999], [2, 9000])).toBe('[:, 8000:9000]');
});
