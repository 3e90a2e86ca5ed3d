import { describe, expect, it } from 'vitest';
import { sampleCondition, sampleHit, sampleWatchpoint } from '../testing/samples';
import { actualText, conditionText, specOf, targetText } from './watchpoints';

describe('words', () => {
  it('write comparisons as comparisons', () => {
    expect(conditionText('nan', {})).toBe('nan');
    expect(conditionText('abs_max_gt', { value: 1000 })).toBe('abs_max > 1000');
    expect(conditionText('mean_lt', { value: -1e-9 })).toBe('mean < -1e-9');
    expect(conditionText('tensor_all_zero', { zero_percentage_ge: 50 })).toBe(
      'tensor_all_zero zero_percentage >= 50 %',
    );
    expect(conditionText('weight_too_large', { max_gt: 5, abs_mean_gt: 1e-9 })).toBe(
      'weight_too_large max > 5 or abs_mean > 1e-9',
    );
    expect(conditionText('weight_not_changed', { rtol: 0.1, equal_nan: true })).toBe(
      'weight_not_changed rtol=0.1 equal_nan=true',
    );
    expect(conditionText('expression', { expression: 'mean > 3' })).toBe('mean > 3');
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
    expect(actualText(sampleHit({ actual: { zero_percentage_ge: 100 } }))).toBe('zero_percentage 100 %');
    expect(actualText(sampleHit({ actual: { mean: 2, nan_count: 0 } }))).toBe('mean 2');
  });
});

it('builds what the server takes', () => {
  const condition = sampleCondition({ id: 'max_gt' });
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
