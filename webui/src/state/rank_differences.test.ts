import { describe, expect, it } from 'vitest';
import type { Statistics } from '../api/types';
import { sampleStatistics } from '../testing/samples';
import { sentence } from '../words/rank_differences';
import { differencesOf, type RankStatistics } from './rank_differences';

function ranks(...each: Array<Partial<Statistics>>): RankStatistics[] {
  return each.map((change, rank) => ({ rank, step: 3, statistics: { ...sampleStatistics(), ...change } }));
}

function say(values: readonly RankStatistics[]): string {
  const { verdict, known } = differencesOf(values);
  return sentence(verdict, known);
}

describe('ranks', () => {
  it('that share their values are the same, but for rounding', () => {
    const values = ranks({ l2: 4 }, { l2: 4 * (1 + 1e-9) }, { l2: 4 }, { l2: 4 });
    expect(say(values)).toBe('The same on all 4 ranks.');
    expect(differencesOf(values).marks.size).toBe(0);
  });

  it('with values that are not finite stand out', () => {
    const values = ranks({}, {}, {}, { nan_count: 12, l2: 9 });
    expect(say(values)).toBe('Rank 3 differs: 12 NaN; all others finite.');
    expect([...(differencesOf(values).marks.get(3) ?? [])]).toEqual(['nan']);
    expect(say(ranks({ nan_count: 1 }, { pos_inf_count: 2, neg_inf_count: 1 }, {}))).toBe(
      'Ranks 0 and 1 differ: 1 NaN, 3 Inf; all others finite.',
    );
    expect(say(ranks({ nan_count: 1 }, { nan_count: 1 }))).toBe('NaN or Inf on all 2 ranks.');
  });

  it('that leave the majority are named with what differs', () => {
    const values = ranks({ l2: 3.9 }, { l2: 3.9 }, { l2: 3.9 }, { l2: 4.2 });
    expect(say(values)).toBe('Rank 3 differs: L2 4.2; 3.9 on all others.');
    expect([...(differencesOf(values).marks.get(3) ?? [])]).toEqual(['l2']);
  });

  it('that all differ stand out by their magnitude alone', () => {
    const batches = ranks({ l2: 3 }, { l2: 3.5 }, { l2: 4 }, { l2: 2.5 });
    expect(say(batches)).toBe('All finite on 4 ranks; none stands out.');
    expect(say(ranks({ l2: 3 }, { l2: 3.5 }, { l2: 900 }, { l2: 3 }, { l2: 2.5 }))).toMatch(/^Rank 2 differs: L2 900, 300 × /);
    expect(say(ranks({ l2: 1 }, { l2: 40 }))).toMatch(/^Rank 1 differs: L2 40, 40 × /);
  });

  it('are compared in their newest step', () => {
    const [first, second, third] = ranks({ l2: 3 }, { l2: 3 }, { nan_count: 5 });
    const values = [first!, second!, { ...third!, step: 2 }];
    expect(differencesOf(values)).toMatchObject({ step: 3, known: 2, verdict: { kind: 'same' } });
    expect(say([first!, { ...second!, statistics: null, step: null }])).toBe('Known on fewer than two ranks.');
    expect(differencesOf([]).step).toBeNull();
  });

  it('are not all named', () => {
    const many = ranks(...Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? { nan_count: 1 } : {})));
    expect(say(many)).toMatch(/^Ranks 0, 2, 4, 6 and 4 more differ: 8 NaN/);
  });
});
