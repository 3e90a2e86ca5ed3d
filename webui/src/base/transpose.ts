// Transposes a slice as NumPy's `.T` does: the order of its axes is reversed.

import type { Elements } from './elements';

// Maps the index of an element of the transposed slice to its index in the original slice, which
// has this shape.
function placeIn(shape: readonly number[]): (cell: number) => number {
  const [rows = 1, columns = 1] = shape;
  if (shape.length === 2) return (cell) => (cell % rows) * columns + Math.floor(cell / rows);
  return (cell) => {
    let rest = cell;
    let place = 0;
    let stride = shape.reduce((a, b) => a * b, 1);
    for (const size of shape) {
      stride /= size;
      place += (rest % size) * stride;
      rest = Math.floor(rest / size);
    }
    return place;
  };
}

export function transposeElements(elements: Elements, shape: readonly number[]): Elements {
  const place = placeIn(shape);
  const { count } = elements;
  const numbers = elements.numbers.slice();
  for (let cell = 0; cell < count; cell += 1) numbers[cell] = elements.numbers[place(cell)] as number;
  return { ...elements, numbers, text: (cell) => elements.text(place(cell)) };
}
