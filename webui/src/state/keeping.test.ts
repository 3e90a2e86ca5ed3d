import { describe, expect, it } from 'vitest';
import { conditionText } from './condition_text';
import { keepingOf, keepingSpec, keeps } from './keeping';

describe('a watchpoint that only keeps', () => {
  it('is told from others by its condition, and said in words', () => {
    for (const what of ['history', 'previous'] as const) {
      const { condition, pause } = keepingSpec(what, 'forward/log');
      expect(keepingOf(condition)).toBe(what);
      expect(keeps(what, condition)).toBe(true);
      expect(pause).toBe('none');
    }
    const { condition } = keepingSpec('previous', 'forward/log');
    expect(conditionText(condition.id, condition.params)).toBe('Keeps previous values');
    expect(keepingOf({ id: 'expression', params: { expression: 'step > 0' } })).toBeNull();
  });

  it('need not be one where a condition compares with the step before', () => {
    expect(keeps('previous', { id: 'weight_not_changed', params: {} })).toBe(true);
    expect(keeps('previous', { id: 'weight_change_too_small', params: {} })).toBe(true);
    expect(keeps('previous', { id: 'expression', params: { expression: 'previous_l2 > 1' } })).toBe(true);
    expect(keeps('previous', { id: 'expression', params: { expression: 'l2 > 1' } })).toBe(false);
    expect(keeps('previous', { id: 'nan', params: {} })).toBe(false);
    expect(keeps('history', { id: 'nan', params: {} })).toBe(true);
  });
});
