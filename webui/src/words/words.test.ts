import { describe, expect, it } from 'vitest';
import { formatAge } from './age';
import * as counts from './counts';
import { sliceProblem } from './tensor';

describe('counts', () => {
  it('use the singular for one', () => {
    expect(counts.nodes(1)).toBe('1 node');
    expect(counts.nodes(0)).toBe('0 nodes');
    expect(counts.children(2000)).toBe('2,000 children');
  });
});

describe('formatAge', () => {
  it('is relative up to a day and a date after that', () => {
    const now = Date.parse('2026-03-01T12:00:00Z');
    expect(formatAge('2026-03-01T11:59:30Z', now)).toBe('30 s ago');
    expect(formatAge('2026-03-01T11:10:00Z', now)).toBe('50 min ago');
    expect(formatAge('2026-02-20T11:10:00Z', now)).toBe('2026-02-20');
    expect(formatAge('nonsense', now)).toBe('');
  });
});

describe('sliceProblem', () => {
  it('names what is wrong', () => {
    expect(sliceProblem({ kind: 'out_of_bounds', index: 9, axis: 0, size: 4 })).toBe(
      'index 9 is out of bounds for axis 0 with size 4',
    );
    expect(sliceProblem({ kind: 'too_many', given: 4, axes: 3 })).toBe('4 indices for a tensor with 3 axes');
  });
});
