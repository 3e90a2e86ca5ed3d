// The health of every op of a step: one number per op on a scale, and that of the worst op per
// scope, so that a bad op can be found by opening scopes.

import type { BoxHealth } from '../base/health';
import { openName } from './aggregates';
import { NONE, type GraphIndex } from './graph_index';
import type { StepStatistics } from './step_statistics';

export const METRICS = ['non_finite', 'abs_mean', 'abs_max', 'zeros', 'l2', 'hits'] as const;
export type Metric = (typeof METRICS)[number];

export interface Health {
  metric: Metric;
  step: number;
  complete: boolean;
  // Ends of the scale, which is logarithmic except for zeros; null if there are no values.
  low: number | null;
  high: number | null;
  // By item: the value, the largest one of a scope's ops; NaN if none is known.
  values: Float64Array;
  // By item: elements that are NaN or infinite, all together.
  nan: Float64Array;
  infinite: Float64Array;
  // The number of ops with values of this step.
  measured: number;
}

const OVERWRITTEN = 2;
// Larger ranges would leave no colours for the values that matter.
const MAX_DECADES = 12;

function valueOf(statistics: StepStatistics, record: number, metric: Metric): number {
  switch (metric) {
    case 'abs_mean':
      return statistics.abs_mean[record] as number;
    case 'abs_max':
      return statistics.abs_max[record] as number;
    case 'l2':
      return statistics.l2[record] as number;
    case 'zeros': {
      const size = statistics.size[record] as number;
      return size === 0 ? NaN : (statistics.zeros[record] as number) / size;
    }
    default: {
      const bad = (statistics.nan[record] as number) + (statistics.infinite[record] as number);
      const size = statistics.size[record] as number;
      return size === 0 ? NaN : bad / size;
    }
  }
}

// NaN is less than any value.
const larger = (a: number, b: number) => (b > a || Number.isNaN(a) ? b : a);

function fillHits(index: GraphIndex, hits: ReadonlyMap<string, number>, values: Float64Array): void {
  for (const [name, count] of hits) {
    const item = index.find(name);
    if (item !== NONE) values[item] = count;
  }
}

// The ends of the scale: powers of ten around the values of single ops.
function scaleOf(values: Float64Array, index: GraphIndex, metric: Metric): { low: number | null; high: number | null } {
  if (metric === 'zeros' || metric === 'non_finite') return { low: 0, high: 1 };
  let low = Infinity;
  let high = 0;
  for (let item = index.scopeCount; item < values.length; item += 1) {
    const value = values[item] as number;
    if (!(value > 0) || value === Infinity) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (high === 0) return { low: null, high: null };
  const top = Math.ceil(Math.log10(high));
  const bottom = Math.max(Math.floor(Math.log10(low)), top - MAX_DECADES);
  return { low: 10 ** Math.min(bottom, top - 1), high: 10 ** top };
}

// Scopes have smaller numbers than what is in them.
function liftToScopes(index: GraphIndex, { values, nan, infinite }: Pick<Health, 'values' | 'nan' | 'infinite'>, lift: boolean): void {
  for (let item = values.length - 1; item > 0; item -= 1) {
    const parent = index.parent(item);
    if (lift) values[parent] = larger(values[parent] as number, values[item] as number);
    nan[parent] = (nan[parent] as number) + (nan[item] as number);
    infinite[parent] = (infinite[parent] as number) + (infinite[item] as number);
  }
}

// `hits`: by name, of nodes and scopes.
export function measureHealth(
  index: GraphIndex,
  statistics: StepStatistics,
  metric: Metric,
  hits: ReadonlyMap<string, number>,
): Health {
  const items = index.scopeCount + index.nodeCount;
  const values = new Float64Array(items).fill(NaN);
  const nan = new Float64Array(items);
  const infinite = new Float64Array(items);
  const seen = new Uint8Array(index.nodeCount);
  for (let record = 0; record < statistics.count; record += 1) {
    const node = statistics.node[record] as number;
    // Memory that was overwritten has the values of another tensor.
    if (node >= index.nodeCount || ((statistics.flags[record] as number) & OVERWRITTEN) !== 0) continue;
    const item = index.scopeCount + node;
    seen[node] = 1;
    nan[item] = (nan[item] as number) + (statistics.nan[record] as number);
    infinite[item] = (infinite[item] as number) + (statistics.infinite[record] as number);
    if (metric !== 'hits') values[item] = larger(values[item] as number, valueOf(statistics, record, metric));
  }
  if (metric === 'hits') fillHits(index, hits, values);
  liftToScopes(index, { values, nan, infinite }, metric !== 'hits');
  const { step, complete } = statistics;
  const measured = seen.reduce((sum, each) => sum + each, 0);
  return { metric, step, complete, ...scaleOf(values, index, metric), values, nan, infinite, measured };
}

// Where a value is on the scale, from 0 to 1; null if it is not known.
export function shareOf({ low, high, metric }: Health, value: number): number | null {
  if (Number.isNaN(value) || low === null || high === null) return null;
  if (metric === 'zeros' || metric === 'non_finite') return Math.min(1, Math.max(0, value));
  if (value <= 0) return 0;
  const share = Math.log(value / low) / Math.log(high / low);
  return Math.min(1, Math.max(0, share));
}

// Looks up boxes by name. Those of aggregates combine their members.
export class HealthMap {
  private readonly known = new Map<string, BoxHealth | null>();

  constructor(
    private readonly index: GraphIndex,
    readonly health: Health,
  ) {}

  at(name: string): BoxHealth | null {
    let found = this.known.get(name);
    if (found === undefined) this.known.set(name, (found = this.find(name)));
    return found;
  }

  ofItem(item: number): BoxHealth {
    const { health } = this;
    const value = health.values[item] as number;
    return { share: shareOf(health, value), value, nan: health.nan[item] as number, infinite: health.infinite[item] as number };
  }

  private find(name: string): BoxHealth | null {
    const item = this.index.find(name);
    if (item !== NONE) return this.ofItem(item);
    const members = openName(this.index, name)?.shown.flatMap(({ items }) => items) ?? [];
    if (members.length === 0) return null;
    const worst: BoxHealth = { share: null, value: NaN, nan: 0, infinite: 0 };
    for (const member of members) {
      const each = this.ofItem(member);
      worst.value = larger(worst.value, each.value);
      worst.nan += each.nan;
      worst.infinite += each.infinite;
    }
    worst.share = shareOf(this.health, worst.value);
    return worst;
  }
}
