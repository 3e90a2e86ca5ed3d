import { describe, expect, it } from 'vitest';
import { HealthMap, measureHealth } from '../index/health';
import { sampleIndex } from '../testing/sample_index';
import { columnHasHit, columnIsBad, columnsOf, executionOf, nextMarked, placeAt } from './execution_order';

const index = sampleIndex([
  { name: 'forward/w', kind: 'parameter' },
  { name: 'forward/a' },
  { name: 'forward/block/b' },
  { name: 'backward/a_backward' },
  { name: 'optimizer/step' },
]);
const execution = executionOf(index);
const itemOf = (name: string) => index.find(name);

// Only NaN matters here.
function healthWith(node: number): HealthMap {
  const one = (value: number) => Float64Array.of(value);
  const statistics = { step: 1, rank: 0, complete: true, count: 1, node: one(node), flags: one(0), size: one(4), nan: one(1), infinite: one(0), zeros: one(0), abs_mean: one(1), abs_max: one(1), l2: one(1) };
  return new HealthMap(index, measureHealth(index, statistics, 'abs_mean', new Map()));
}

describe('executionOf', () => {
  it('has the ops in order, with their phases', () => {
    expect([...execution.items].map((item) => index.name(item))).toEqual([
      'forward/a', 'forward/block/b', 'backward/a_backward', 'optimizer/step',
    ]);
    expect(execution.phases.map(({ name, begin, end }) => [name, begin, end])).toEqual([
      ['forward', 0, 2], ['backward', 2, 3], ['optimizer', 3, 4],
    ]);
    expect(execution.places[itemOf('optimizer/step') - index.scopeCount]).toBe(3);
  });
});

describe('columnsOf', () => {
  it('keeps the marks of ops that are narrower than a pixel', () => {
    const columns = columnsOf(execution, 2, healthWith(2), new Set([itemOf('optimizer/step')]));
    expect([columnIsBad(columns, 0), columnIsBad(columns, 1)]).toEqual([true, false]);
    expect([columnHasHit(columns, 0), columnHasHit(columns, 1)]).toEqual([false, true]);
  });

  it('fills all pixels of a wide op', () => {
    const columns = columnsOf(execution, 8, healthWith(1), new Set());
    expect(Array.from({ length: 8 }, (_, x) => columnIsBad(columns, x))).toEqual([
      true, true, false, false, false, false, false, false,
    ]);
  });
});

describe('places', () => {
  const isLast = (item: number) => item === itemOf('optimizer/step');

  it('prefer the marked op of a pixel', () => {
    expect(placeAt(execution, 0.9, 2, () => false)).toBe(2);
    expect(placeAt(execution, 0.9, 2, isLast)).toBe(3);
    expect(placeAt(execution, 1.5, 800, () => false)).toBe(3);
    expect(placeAt(execution, -1, 800, () => false)).toBe(0);
  });

  it('skip to the next marked op', () => {
    expect(nextMarked(execution, 0, 1, isLast)).toBe(3);
    expect(nextMarked(execution, 3, -1, isLast)).toBe(3);
  });
});
