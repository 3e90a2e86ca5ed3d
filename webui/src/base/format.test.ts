import { describe, expect, it } from 'vitest';
import { compactCount, formatAge, formatNumber, formatShape, plural, shortDtype } from './format';

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

describe('other words', () => {
  it('shortens counts without rounding up', () => {
    expect(compactCount(999)).toBe('999');
    expect(compactCount(1000)).toBe('1k');
    expect(compactCount(1250)).toBe('1.3k');
    expect(compactCount(34_900)).toBe('34k');
    expect(compactCount(2_500_000)).toBe('2.5M');
  });

  it('writes shapes, dtypes and plurals', () => {
    expect(formatShape([64, 3, 8])).toBe('64×3×8');
    expect(formatShape([])).toBe('scalar');
    expect(shortDtype('bfloat16')).toBe('bf16');
    expect(shortDtype('bool')).toBe('bool');
    expect(plural(1, 'node')).toBe('1 node');
    expect(plural(2000, 'child', 'children')).toBe('2,000 children');
  });

  it('tells ages, and dates when they are long ago', () => {
    const now = Date.parse('2026-03-01T12:00:00Z');
    expect(formatAge('2026-03-01T11:59:30Z', now)).toBe('30 s ago');
    expect(formatAge('2026-03-01T11:10:00Z', now)).toBe('50 min ago');
    expect(formatAge('2026-02-20T11:10:00Z', now)).toBe('2026-02-20');
    expect(formatAge('nonsense', now)).toBe('');
  });
});
