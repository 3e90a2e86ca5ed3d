// Rows and columns by the million in an element that browsers let scroll only so
// far: beyond that, the scroll bar stands for a longer way than its own.

// Engines clip elements somewhere above 16 million pixels.
export const LONGEST_PX = 8_000_000;

// How long the element is that stands for `length` pixels.
export function elementLength(length: number): number {
  return Math.min(length, LONGEST_PX);
}

// Where in the whole length the element is when it is scrolled to `at`.
export function placeOfScroll(at: number, length: number, window: number): number {
  if (length <= LONGEST_PX) return at;
  const way = Math.max(1, LONGEST_PX - window);
  return (Math.min(at, way) / way) * (length - window);
}

// Where to scroll the element to, to be at `place`.
export function scrollOfPlace(place: number, length: number, window: number): number {
  if (length <= LONGEST_PX) return place;
  return (place / Math.max(1, length - window)) * (LONGEST_PX - window);
}

// The place nearest to the present one at which [from, from + size) is in view.
export function placeInView(place: number, from: number, size: number, window: number): number {
  if (from < place) return from;
  return from + size > place + window ? from + size - window : place;
}
