import { describe, expect, it } from 'vitest';
import { compactCount, formatNumber, formatShape, sentence, shortDtype } from './format';

describe('formatNumber', () => {
  it.each([
    [0, '0'],
    [-0, '-0'],
    [1, '1'],
    [123456, '123456'],
    [0.1, '0.1'],
    [1 / 3, '0.33333'],
    [-19.97523, '-19.975'],
    [12345678, '1.2346e7'],
    [1e-5, '1e-5'],
    [-0.00001234567, '-1.2346e-5'],
    [3.4028234e38, '3.4028e38'],
  ])('writes %d as %s', (value, text) => expect(formatNumber(value)).toBe(text));

  it('names what JSON cannot carry', () => {
    expect(formatNumber('NaN')).toBe('NaN');
    expect(formatNumber('Infinity')).toBe('+Inf');
    expect(formatNumber('-Infinity')).toBe('-Inf');
    expect(formatNumber(null)).toBe('–');
  });

  it('keeps zeros that are part of a whole number', () => {
    expect(formatNumber(100, 2)).toBe('100');
    expect(formatNumber(120.25, 3)).toBe('120');
  });
});

describe('other notation', () => {
  it('shortens counts without rounding up', () => {
    expect(compactCount(999)).toBe('999');
    expect(compactCount(1000)).toBe('1k');
    expect(compactCount(1250)).toBe('1.3k');
    expect(compactCount(34_900)).toBe('34k');
    expect(compactCount(2_500_000)).toBe('2.5M');
  });

  it('writes shapes and dtypes', () => {
    expect(formatShape([64, 3, 8])).toBe('64×3×8');
    expect(formatShape([])).toBe('scalar');
    expect(shortDtype('bfloat16')).toBe('bf16');
    expect(shortDtype('bool')).toBe('bool');
  });
});

describe('a sentence', () => {
  it('begins with a capital letter and ends with a full stop', () => {
    expect(sentence('the loss compares outputs with labels')).toBe('The loss compares outputs with labels.');
    expect(sentence('Net trains in evaluation mode.')).toBe('Net trains in evaluation mode.');
  });

  it('keeps the names that it begins with', () => {
    expect(sentence('x.half() returns a new tensor')).toBe('x.half() returns a new tensor.');
  });

  it('is no expression', () => {
    expect(sentence('mean > 3: mean 4.2')).toBe('mean > 3: mean 4.2');
    expect(sentence('')).toBe('');
  });
});
