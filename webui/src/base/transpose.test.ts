import { expect, it } from 'vitest';
import type { Elements } from './elements';
import { transposeElements } from './transpose';

function counting(count: number): Elements {
  return { dtype: 'float32', count, numbers: Float32Array.from({ length: count }, (_, i) => i), text: (i) => `${i}` };
}

it.each([
  [[2, 3], [0, 3, 1, 4, 2, 5]],
  [[3], [0, 1, 2]],
  [[2, 1, 3], [0, 3, 1, 4, 2, 5]],
  [[2, 2, 2], [0, 4, 2, 6, 1, 5, 3, 7]],
])('turns numbers and texts of shape %j around as NumPy does', (shape, wanted) => {
  const turned = transposeElements(counting(wanted.length), shape);
  expect([...turned.numbers]).toEqual(wanted);
  expect(wanted.map((_, cell) => Number(turned.text(cell)))).toEqual(wanted);
});
