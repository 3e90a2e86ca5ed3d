import { describe, expect, it } from 'vitest';
import type { Floats } from '../api/http';
import type { Overview } from '../api/types';
import { append, assemble, type Answers, type OverviewData } from './overview_data';

const overviewOf = (modules: string[], from: number, to: number): Overview => ({
  rank: 0,
  ranks: [0],
  modules,
  steps: Array.from({ length: to - from + 1 }, (_, i) => ({
    step: from + i, mode: 'train', time: 0, duration_ms: 1, measuring_ms: 0, has_loss: false, loss: null,
  })),
});

// The value of each cell is its step.
const floatsOf = (columns: number, from: number, to: number): Floats => ({
  rows: to - from + 1,
  columns,
  step: to,
  values: Float32Array.from({ length: (to - from + 1) * columns }, (_, i) => from + Math.floor(i / columns)),
});

function part(answers: Answers): OverviewData {
  const data = assemble('activation', answers, 0);
  if (data === null) throw new Error('the answers fit');
  return data;
}

const same = (from: number, to: number, modules = ['a', 'b']) =>
  part({ overview: overviewOf(modules, from, to), values: floatsOf(modules.length, from, to), bad: floatsOf(modules.length, from, to) });

const stepsOf = ({ steps }: OverviewData) => steps.map(({ step }) => step);

describe('answers that were given at different times', () => {
  it('are cut to the steps that all of them have', () => {
    const data = part({ overview: overviewOf(['a', 'b'], 3, 9), values: floatsOf(2, 1, 6), bad: floatsOf(2, 2, 7) });
    expect(stepsOf(data)).toEqual([3, 4, 5, 6]);
    expect([...data.values.values]).toEqual([3, 3, 4, 4, 5, 5, 6, 6]);
    expect([...data.bad.values]).toEqual([3, 3, 4, 4, 5, 5, 6, 6]);
  });

  it('do not fit together if modules or steps differ', () => {
    const overview = overviewOf(['a', 'b'], 1, 3);
    expect(assemble('activation', { overview, values: floatsOf(1, 1, 3), bad: floatsOf(2, 1, 3) }, 0)).toBeNull();
    expect(assemble('activation', { overview, values: floatsOf(2, 7, 9), bad: floatsOf(2, 1, 3) }, 0)).toBeNull();
  });

  it('may be empty', () => {
    const none = { rows: 0, columns: 2, step: 0, values: new Float32Array() };
    expect(stepsOf(part({ overview: overviewOf(['a', 'b'], 1, 3), values: none, bad: none }))).toEqual([]);
  });
});

describe('later steps', () => {
  it('are added', () => {
    const data = append(same(1, 3), same(4, 5));
    expect(data && stepsOf(data)).toEqual([1, 2, 3, 4, 5]);
    expect([...(data?.values.values ?? [])]).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    expect(data?.dropped).toBe(0);
  });

  it('push out the oldest ones', () => {
    const data = append(same(1, 999), same(1000, 1004));
    expect(data?.steps.length).toBe(1000);
    expect(data?.steps[0]?.step).toBe(5);
    expect(data?.values.values[0]).toBe(5);
    expect(data?.values.steps).toBe(1000);
    expect(data?.dropped).toBe(4);
  });

  it('of other modules cannot be added', () => {
    expect(append(same(1, 3), same(4, 5, ['a', 'b', 'c']))).toBeNull();
  });
});
