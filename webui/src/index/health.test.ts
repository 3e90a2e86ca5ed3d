import { describe, expect, it } from 'vitest';
import { sampleIndex } from '../testing/sample_index';
import { HealthMap, measureHealth, shareOf } from './health';
import { readStepStatistics, type StepStatistics } from './step_statistics';

const index = sampleIndex([
  { name: 'a/x' },
  { name: 'a/b/y' },
  { name: 'z' },
  ...Array.from({ length: 30 }, (_, i) => ({ name: `many/relu_${i}` })),
]);

interface Row {
  node: number;
  flags?: number;
  nan?: number;
  infinite?: number;
  zeros?: number;
  abs_mean?: number;
}

function statistics(rows: readonly Row[]): StepStatistics {
  const column = (value: (row: Row) => number | undefined) => Float64Array.from(rows, (row) => value(row) ?? 0);
  return {
    step: 7,
    rank: 0,
    complete: true,
    count: rows.length,
    node: column((row) => row.node),
    flags: column((row) => row.flags),
    size: column(() => 10),
    nan: column((row) => row.nan),
    infinite: column((row) => row.infinite),
    zeros: column((row) => row.zeros),
    abs_mean: column((row) => row.abs_mean ?? NaN),
    abs_max: column(() => NaN),
    l2: column(() => NaN),
  };
}

const NO_HITS = new Map<string, number>();

describe('measureHealth', () => {
  it('gives a scope the value of its worst op', () => {
    const health = measureHealth(index, statistics([{ node: 0, abs_mean: 0.01 }, { node: 1, abs_mean: 90 }]), 'abs_mean', NO_HITS);
    const map = new HealthMap(index, health);
    expect(map.at('a')?.value).toBe(90);
    expect(map.at('a/b')?.value).toBe(90);
    expect(map.at('a/x')?.value).toBe(0.01);
    expect(map.at('z')?.share).toBeNull();
    expect(map.at('unknown')).toBeNull();
    expect(health.measured).toBe(2);
  });

  it('has a logarithmic scale between powers of ten', () => {
    const health = measureHealth(index, statistics([{ node: 0, abs_mean: 0.01 }, { node: 1, abs_mean: 90 }]), 'abs_mean', NO_HITS);
    expect([health.low, health.high]).toEqual([0.01, 100]);
    expect(shareOf(health, 1)).toBeCloseTo(0.5);
    expect(shareOf(health, 0)).toBe(0);
    expect(shareOf(health, 1e9)).toBe(1);
  });

  it('does not let one tiny value use up the colours', () => {
    const { low, high } = measureHealth(index, statistics([{ node: 0, abs_mean: 1e-300 }, { node: 1, abs_mean: 5 }]), 'abs_mean', NO_HITS);
    expect([low, high]).toEqual([1e-11, 10]);
  });

  it('finds values that are not finite in closed scopes and aggregates', () => {
    const map = new HealthMap(index, measureHealth(index, statistics([{ node: 1, nan: 2 }, { node: 20, infinite: 3 }]), 'abs_mean', NO_HITS));
    expect(map.at('a')).toMatchObject({ nan: 2, infinite: 0 });
    expect(map.at('many/relu[*]')).toMatchObject({ nan: 0, infinite: 3 });
  });

  it('counts the outputs of an op together', () => {
    const map = new HealthMap(index, measureHealth(index, statistics([{ node: 2, zeros: 1 }, { node: 2, zeros: 9, nan: 1 }]), 'zeros', NO_HITS));
    expect(map.at('z')).toMatchObject({ value: 0.9, share: 0.9, nan: 1 });
  });

  it('passes over tensors whose memory was overwritten', () => {
    const map = new HealthMap(index, measureHealth(index, statistics([{ node: 2, flags: 2, nan: 1, abs_mean: 4 }]), 'abs_mean', NO_HITS));
    expect(map.at('z')).toMatchObject({ share: null, nan: 0 });
  });

  it('colours by hits, which scopes have already added up', () => {
    const map = new HealthMap(index, measureHealth(index, statistics([]), 'hits', new Map([['a/x', 3], ['a', 3]])));
    expect(map.at('a/x')?.value).toBe(3);
    expect(map.at('a')?.value).toBe(3);
    expect(map.at('z')?.share).toBeNull();
  });
});

// A file as the server writes it.
function file(columns: Record<string, Uint8Array | Uint32Array | BigUint64Array | Float64Array>): ArrayBuffer {
  const header: Record<string, unknown> = {};
  let offset = 0;
  for (const [name, column] of Object.entries(columns)) {
    const type = column instanceof Uint8Array ? 'u8' : column instanceof Uint32Array ? 'u32' : column instanceof Float64Array ? 'f64' : 'u64';
    header[name] = { type, offset, count: column.length };
    offset += Math.ceil(column.byteLength / 8) * 8;
  }
  const json = JSON.stringify({ step: 3, rank: 1, complete: false, columns: header });
  const size = Math.ceil(json.length / 8) * 8;
  const body = new Uint8Array(16 + size + offset);
  body.set([...'GDBGIDX'].map((character) => character.charCodeAt(0)));
  body[7] = 2;
  new DataView(body.buffer).setUint32(8, size, true);
  body.set(new TextEncoder().encode(json.padEnd(size)), 16);
  let at = 16 + size;
  for (const column of Object.values(columns)) {
    body.set(new Uint8Array(column.buffer), at);
    at += Math.ceil(column.byteLength / 8) * 8;
  }
  return body.buffer;
}

describe('readStepStatistics', () => {
  const counts = { flags: new Uint32Array(1), count: BigUint64Array.of(4n), nan_count: BigUint64Array.of(1n), pos_inf_count: BigUint64Array.of(2n), neg_inf_count: BigUint64Array.of(1n), zero_count: BigUint64Array.of(0n) };
  const values = { abs_mean: Float64Array.of(0.5), abs_max: Float64Array.of(2), l2: Float64Array.of(3) };

  it('reads the columns', () => {
    const read = readStepStatistics(file({ node: Uint32Array.of(5), ...counts, ...values }));
    expect(read).toMatchObject({ step: 3, rank: 1, complete: false, count: 1 });
    expect([read.node[0], read.size[0], read.nan[0], read.infinite[0], read.abs_mean[0]]).toEqual([5, 4, 1, 3, 0.5]);
  });

  it('rejects a file without a column, and one that is cut off', () => {
    expect(() => readStepStatistics(file({ node: Uint32Array.of(5), ...counts }))).toThrow('abs_mean');
    const whole = file({ node: Uint32Array.of(5), ...counts, ...values });
    expect(() => readStepStatistics(whole.slice(0, whole.byteLength - 8))).toThrow('truncated');
  });
});
