import { describe, expect, it } from 'vitest';
import { readForm, type ChangeForm } from './change';

const form = (change: Partial<ChangeForm>): ChangeForm => ({
  kind: 'values',
  tensor: 'forward/fc1/weight:0',
  slice: '',
  values: '0',
  rate: '',
  optimizer: '',
  group: '',
  rank: null,
  ...change,
});

describe('a change of values', () => {
  it('is one number or several, also those that JSON cannot carry', () => {
    expect(readForm(form({ values: ' [1, -2.5e-3\nnan] inf; -Infinity ', slice: '[0,:]', rank: 1 }))).toEqual({
      ok: true,
      request: {
        change: 'values',
        name: 'forward/fc1/weight:0',
        slice: '[0,:]',
        values: [1, -0.0025, 'NaN', 'Infinity', '-Infinity'],
        rank: 1,
      },
    });
    expect(readForm(form({}))).toEqual({
      ok: true,
      request: { change: 'values', name: 'forward/fc1/weight:0', values: [0] },
    });
  });

  it.each([
    [{ values: '1, two' }, 'values', '“two” is not a number.'],
    [{ values: ' , ' }, 'values', 'Enter a number'],
    [{ values: '1e999' }, 'values', 'is not a number'],
    [{ tensor: 'forward/fc1/weight' }, 'tensor', 'Enter a node and an output'],
  ] as const)('names what is wrong in %o', (change, field, problem) => {
    expect(readForm(form(change))).toEqual({ ok: false, field, problem: expect.stringContaining(problem) });
  });
});

describe('a learning rate', () => {
  it('is that of all optimizers, or of one group', () => {
    const rate = { kind: 'learning_rate', rate: '1e-4' } as const;
    expect(readForm(form(rate))).toEqual({ ok: true, request: { change: 'learning_rate', value: 1e-4 } });
    expect(readForm(form({ ...rate, optimizer: '0', group: '2' }))).toEqual({
      ok: true,
      request: { change: 'learning_rate', value: 1e-4, optimizer: 0, group: 2 },
    });
  });

  it.each([
    [{ rate: '-1' }, 'rate'],
    [{ rate: 'inf' }, 'rate'],
    [{ rate: '' }, 'rate'],
    [{ rate: '1', optimizer: 'Adam' }, 'optimizer'],
    [{ rate: '1', group: '-1' }, 'group'],
  ] as const)('is refused as in %o', (change, field) => {
    expect(readForm(form({ kind: 'learning_rate', ...change }))).toMatchObject({ ok: false, field });
  });
});

it('steps are skipped and taken back without further fields', () => {
  for (const kind of ['skip_step', 'restore_step'] as const) {
    expect(readForm(form({ kind, values: 'nonsense' }))).toEqual({ ok: true, request: { change: kind } });
  }
});
