// Maps scroll positions to positions in content that is longer than browsers can scroll.
// Beyond the limit, one pixel of scrolling moves the content by more than one pixel.

// Engines clip elements somewhere above 16 million pixels.
export const MAX_ELEMENT_PX = 8_000_000;

// The length of the element for content of `length` pixels.
export function elementLength(length: number): number {
  return Math.min(length, MAX_ELEMENT_PX);
}

// The position in the content when the element is scrolled to `at`.
export function placeOfScroll(at: number, length: number, window: number): number {
  if (length <= MAX_ELEMENT_PX) return at;
  const range = Math.max(1, MAX_ELEMENT_PX - window);
  return (Math.min(at, range) / range) * (length - window);
}

// The scroll position of the element that shows the content at `place`.
export function scrollOfPlace(place: number, length: number, window: number): number {
  if (length <= MAX_ELEMENT_PX) return place;
  return (place / Math.max(1, length - window)) * (MAX_ELEMENT_PX - window);
}

// The position nearest to `place` at which [from, from + size) is in view.
export function placeInView(place: number, from: number, size: number, window: number): number {
  if (from < place) return from;
  return from + size > place + window ? from + size - window : place;
}
