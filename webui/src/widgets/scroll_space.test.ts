import { describe, expect, it } from 'vitest';
import { elementLength, MAX_ELEMENT_PX, placeInView, placeOfScroll, scrollOfPlace } from './scroll_space';

const WINDOW = 300;

describe('a scroll space', () => {
  it('is the element itself while that is short enough', () => {
    expect(elementLength(5000)).toBe(5000);
    expect(placeOfScroll(1234, 5000, WINDOW)).toBe(1234);
    expect(scrollOfPlace(1234, 5000, WINDOW)).toBe(1234);
  });

  it('reaches both ends of what is longer, and comes back to where it was', () => {
    const length = 20 * 4_000_000;
    expect(elementLength(length)).toBe(MAX_ELEMENT_PX);
    expect(placeOfScroll(0, length, WINDOW)).toBe(0);
    expect(placeOfScroll(MAX_ELEMENT_PX - WINDOW, length, WINDOW)).toBe(length - WINDOW);
    for (const place of [20, 1_000_000, length - 2 * WINDOW]) {
      expect(placeOfScroll(scrollOfPlace(place, length, WINDOW), length, WINDOW)).toBeCloseTo(place, 3);
    }
  });

  it('moves no more than it has to', () => {
    expect(placeInView(100, 150, 20, WINDOW)).toBe(100);
    expect(placeInView(100, 60, 20, WINDOW)).toBe(60);
    expect(placeInView(100, 500, 20, WINDOW)).toBe(220);
  });
});
