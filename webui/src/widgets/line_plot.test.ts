import { expect, it } from 'vitest';
import { pathOf } from './line_plot';

it('draws what lies between steps that follow each other apart from the rest', () => {
  const steps = [1, 2, 5, 6, 7];
  const points = [[0, 0], [1, 1], [4, 2], null, [6, 3]] as const;
  const follows = (i: number) => (steps[i] as number) - (steps[i - 1] as number) === 1;
  expect(pathOf(points, follows)).toBe('M0.0 0.0L1.0 1.0');
  expect(pathOf(points, (i) => !follows(i))).toBe('M1.0 1.0L4.0 2.0');
  expect(pathOf([[0, 0], [1, 1], [2, 2]], () => true)).toBe('M0.0 0.0L1.0 1.0L2.0 2.0');
});
