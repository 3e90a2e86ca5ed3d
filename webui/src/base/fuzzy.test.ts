import { expect, it } from 'vitest';
import { fuzzyScore } from './fuzzy';

it('letters in order fit, others do not', () => {
  expect(fuzzyScore('', 'Continue')).toBeGreaterThan(0);
  expect(fuzzyScore('nn', 'Next node')).toBeGreaterThan(0);
  expect(fuzzyScore('zz', 'Next node')).toBe(0);
  expect(fuzzyScore('node n', 'Next node')).toBe(0);
});

it('the whole text fits best, beginnings of words better than letters within', () => {
  expect(fuzzyScore('heat', 'Show heat map')).toBeGreaterThan(fuzzyScore('heat', 'Show the tab'));
  expect(fuzzyScore('nn', 'Next node')).toBeGreaterThan(fuzzyScore('nn', 'Continue until'));
});
