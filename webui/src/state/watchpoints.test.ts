import { describe, expect, it } from 'vitest';
import { sampleHit, sampleWatchpoint } from '../testing/samples';
import { actualText, conditionText, specOf, targetText } from './watchpoints';

describe('words', () => {
  it('write comparisons as comparisons', () => {
    expect(conditionText('nan', {})).toBe('nan');
    expect(conditionText('abs_max_gt', { value: 1000 })).toBe('abs_max > 1000');
    expect(conditionText('mean_lt', { value: -1e-9 })).toBe('mean < -1e-9');
    expect(conditionText('range', { low: 0, high: 1 })).toBe('range low=0 high=1');
  });

  it('name the target', () => {
    expect(targetText(sampleWatchpoint())).toBe('everything');
    expect(targetText(sampleWatchpoint({ scopes: ['backward'], nodes: ['forward/log'] }))).toBe(
      'forward/log, backward/',
    );
    expect(targetText(sampleWatchpoint({ categories: ['gradient'] }))).toBe('all of kind gradient');
  });

  it('tell what was measured, without counts of zero', () => {
    expect(actualText(sampleHit({ actual: { nan_count: 3, inf_count: 0 } }))).toBe('3 NaN');
    expect(actualText(sampleHit({ actual: { abs_max: 'Infinity' } }))).toBe('abs_max +Inf');
    expect(actualText(sampleHit({ actual: { pos_inf_count: 1, neg_inf_count: 2 } }))).toBe(
      '1 +Inf, 2 -Inf',
    );
  });
});

it('builds what the server takes', () => {
  const condition = { id: 'max_gt', title: '', target: 'any', params: [] };
  const spec = specOf(condition, { value: 2 }, { kind: 'scope', name: 'backward' }, 'step');
  expect(spec).toEqual({
    condition: { id: 'max_gt', params: { value: 2 } },
    nodes: [],
    scopes: ['backward'],
    patterns: [],
    categories: [],
    pause: 'step',
    enabled: true,
  });
});
