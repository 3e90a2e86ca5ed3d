import { describe, expect, it } from 'vitest';
import { sampleCondition, sampleHit, sampleParam } from '../testing/samples';
import { actualText, conditionText, incidentTitle } from './condition_text';

const CATALOGUE = new Map(
  [
    sampleCondition({ id: 'nan', title: 'NaN' }),
    sampleCondition({
      id: 'weight_too_large',
      title: 'Weight too large',
      target: 'weight',
      params: [sampleParam('abs_mean_gt', { title: 'mean |x|', tested: true }), sampleParam('max_gt', { tested: true })],
    }),
    sampleCondition({
      id: 'weight_not_changed',
      title: 'Unchanged weight',
      params: [
        sampleParam('rtol', { title: 'relative tolerance' }),
        sampleParam('equal_nan', { title: 'NaN equals NaN', type: 'bool' }),
      ],
    }),
    sampleCondition({
      id: 'tensor_all_zero',
      title: 'Tensor all zero',
      params: [sampleParam('zero_percentage_ge', { title: 'zeros', tested: true, unit: 'percent' })],
    }),
  ].map((condition) => [condition.id, condition]),
);

describe('a condition', () => {
  const text = (id: string, params: Parameters<typeof conditionText>[1]) => conditionText(id, params, CATALOGUE);

  it('is a comparison where it is one', () => {
    expect(text('abs_max_gt', { value: 1000 })).toBe('abs_max > 1000');
    expect(text('mean_lt', { value: -1e-9 })).toBe('mean < -1e-9');
    expect(text('expression', { expression: 'mean > 3' })).toBe('mean > 3');
    expect(text('abs_max_gt', { value: 1000, axis: -1 })).toBe('abs_max > 1000, for each channel of axis -1');
    expect(text('expression', { expression: 'p99 > 3', axis: 0 })).toBe('p99 > 3, for each channel of axis 0');
  });

  it('has its title, and what is tested', () => {
    expect(text('nan', {})).toBe('NaN');
    expect(text('tensor_all_zero', { zero_percentage_ge: 50 })).toBe('Tensor all zero (zeros ≥ 50 %)');
    expect(text('tensor_all_zero', { zero_percentage_ge: 50, axis: 1 })).toBe(
      'Tensor all zero (zeros ≥ 50 %, for each channel of axis 1)',
    );
    expect(text('weight_too_large', { max_gt: 5, abs_mean_gt: 1e-9 })).toBe(
      'Weight too large (max > 5 or mean |w| > 1e-9)',
    );
    expect(text('weight_not_changed', { rtol: 0.1, equal_nan: true })).toBe(
      'Unchanged weight (relative tolerance 0.1, NaN equals NaN)',
    );
    expect(text('weight_not_changed', { rtol: 0.1, equal_nan: false })).toBe(
      'Unchanged weight (relative tolerance 0.1)',
    );
  });

  it('stands for itself where the catalogue does not have it', () => {
    expect(text('made_up', { some_gt: 5, other: 2 })).toBe('made_up (some > 5, other 2)');
  });
});

describe('what was measured', () => {
  const text = (changes: Parameters<typeof sampleHit>[0]) => actualText(sampleHit(changes), CATALOGUE);

  it('is what the job says, for a condition that it tests itself', () => {
    expect(text({ condition: 'wrong_mode', message: 'train() is missing', actual: {} })).toBe('train() is missing.');
  });

  it('is told without counts of zero', () => {
    expect(text({ actual: { nan_count: 3, inf_count: 0 } })).toBe('3 NaN');
    expect(text({ actual: { pos_inf_count: 1, neg_inf_count: 2 } })).toBe('1 +Inf, 2 -Inf');
    expect(text({ actual: { mean: 2, nan_count: 0 } })).toBe('mean 2');
  });

  it('ends with the circumstances', () => {
    expect(text({ actual: { iteration: 6, pos_inf_count: 2 } })).toBe('2 +Inf, iteration 6');
    expect(text({ condition: 'abs_max_gt', params: { value: 10 }, actual: { abs_max: 20, micro_step: 2 } })).toBe(
      'abs_max 20 > 10, pass 2',
    );
  });

  it('names the channel', () => {
    const actual = { zero_percentage_ge: 100, channel: 2, matching_channels: 3 };
    expect(text({ condition: 'tensor_all_zero', params: { axis: 1 }, actual })).toBe(
      'all values are zero, channel 2, channels that match: 3',
    );
  });

  it('has the words of its condition', () => {
    expect(text({ condition: 'made_up', actual: { abs_max: 'Infinity' } })).toBe('abs_max +Inf');
    expect(text({ condition: 'tensor_all_zero', actual: { zero_percentage_ge: 100 } })).toBe('all values are zero');
  });

  it('is a sentence where the figures need one', () => {
    expect(text({ condition: 'weight_not_changed', actual: { changed_count: 0 } })).toBe('unchanged since the previous step');
    expect(text({ condition: 'activation_inactive', actual: { inactive_percentage: 100 } })).toBe('100 % of values ≤ 0: dead ReLU');
    const dead = { range_percentage_gt: 99.9, range_end_inclusive: 0 };
    expect(text({ condition: 'activation_range', params: dead, actual: { range_percentage: 100 } })).toBe(
      '100 % of values ≤ 0: dead ReLU',
    );
    const saturated = { range_percentage_lt: 0.1, range_start_inclusive: -1, range_end_inclusive: 1 };
    expect(text({ condition: 'activation_range', params: saturated, actual: { range_percentage: 0 } })).toBe(
      'saturated: almost no values between -1 and 1',
    );
    expect(conditionText('activation_range', saturated, CATALOGUE)).toBe(
      'activation_range (< 0.1 % of values between -1 and 1)',
    );
  });

  it('stands beside its limit', () => {
    expect(text({ condition: 'abs_max_gt', params: { value: 1000 }, actual: { abs_max: 1240 } })).toBe(
      'abs_max 1240 > 1000',
    );
    const params = { zero_percentage_ge: 90 };
    expect(text({ condition: 'tensor_all_zero', params, actual: { zero_percentage: 95 } })).toBe(
      'zeros 95 % ≥ 90 %',
    );
  });
});

describe('an incident', () => {
  it('has the title of its diagnosis, of its conditions, or the expression that is true', () => {
    const origin = sampleHit({ condition: 'expression', params: { expression: 'abs_max > 30' } });
    const incident = {
      id: origin.id,
      origin,
      diagnosis: { hit: origin.id, rule: null, title: null, text: null, evidence: [], causes: [], next: [] },
      conditions: ['expression', 'nan'],
      first_rank: 0,
      ranks: [0],
      hit_count: 1,
      reached_count: 0,
      first_reached: null,
      steps: [],
    };
    const named = new Map([['nan', sampleCondition({ id: 'nan', title: 'NaN' })]]);
    expect(incidentTitle(incident, named)).toBe('abs_max > 30, NaN');
    expect(incidentTitle({ ...incident, diagnosis: { ...incident.diagnosis, title: 'Logarithm of zero' } }, named))
      .toBe('Logarithm of zero');
  });
});
