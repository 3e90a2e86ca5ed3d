// Which ranks have other statistics of a tensor than the rest. Pure functions.

import type { Statistics } from '../api/types';
import { toNumber } from '../base/numbers';
import { columns, type Column, type Verdict } from '../words/rank_differences';

export interface RankStatistics {
  rank: number;
  // Null: not known.
  statistics: Statistics | null;
  // The step of the statistics.
  step: number | null;
}

export const COLUMNS = Object.keys(columns) as Column[];

// Null where there is none, such as the mean of a tensor without finite elements.
export function valueIn(column: Column, statistics: Statistics): number | null {
  if (column === 'nan') return statistics.nan_count;
  if (column === 'inf') return statistics.pos_inf_count + statistics.neg_inf_count;
  const value = statistics[column];
  return value === null ? null : toNumber(value);
}

export interface Differences {
  verdict: Verdict;
  // What to mark, by rank.
  marks: ReadonlyMap<number, ReadonlySet<Column>>;
  // The step that is compared; null if nothing is known.
  step: number | null;
  // The number of ranks compared.
  known: number;
}

interface Known {
  rank: number;
  statistics: Statistics;
}

// Sums in another order differ by rounding.
const CLOSE = 1e-6;
// Batches differ between ranks, but hardly by this factor.
const FAR = 10;

const VALUES = ['l2', 'abs_max', 'mean'] as const satisfies readonly Column[];
const MAGNITUDES = ['l2', 'abs_max'] as const satisfies readonly Column[];

function isClose(a: number | null, b: number | null, scale: number): boolean {
  if (a === null || b === null) return a === b;
  return Object.is(a, b) || Math.abs(a - b) <= CLOSE * Math.max(Math.abs(a), Math.abs(b), scale);
}

// A mean near zero is rounded relative to the elements, not to itself.
function isSame(a: Statistics, b: Statistics, column: Column): boolean {
  const scale = column === 'mean' ? (valueIn('abs_max', a) ?? 0) : 0;
  return isClose(valueIn(column, a), valueIn(column, b), scale);
}

const isSameIn = (columns: readonly Column[]) => (a: Statistics, b: Statistics) =>
  columns.every((column) => isSame(a, b, column));

const specialsOf = (statistics: Statistics) => (valueIn('nan', statistics) ?? 0) + (valueIn('inf', statistics) ?? 0);

function marksOf(ranks: readonly Known[], isMarked: (statistics: Statistics, column: Column) => boolean) {
  const marks = new Map<number, ReadonlySet<Column>>();
  for (const { rank, statistics } of ranks) {
    const found = COLUMNS.filter((column) => isMarked(statistics, column));
    if (found.length > 0) marks.set(rank, new Set(found));
  }
  return marks;
}

// The ranks that share their values, if they are more than half of all.
function majority(known: readonly Known[]): Statistics | null {
  const same = isSameIn(VALUES);
  for (const { statistics } of known.slice(0, Math.ceil(known.length / 2))) {
    if (known.filter((other) => same(statistics, other.statistics)).length * 2 > known.length) return statistics;
  }
  return null;
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[(values.length - 1) >> 1] ?? 0;
}

function timesOf(value: number, usual: number): number {
  if (usual === 0) return value === 0 ? 1 : Infinity;
  return value / usual;
}

const isFar = (times: number) => times >= FAR || times <= 1 / FAR;

function scaleOf(known: readonly Known[]): Omit<Differences, 'step' | 'known'> | null {
  for (const column of MAGNITUDES) {
    const usual = middle(known.map(({ statistics }) => valueIn(column, statistics) ?? 0));
    const isOff = (statistics: Statistics) => isFar(timesOf(valueIn(column, statistics) ?? 0, usual));
    const off = known.filter(({ statistics }) => isOff(statistics));
    const [first] = off;
    if (first === undefined || off.length * 2 > known.length) continue;
    const value = valueIn(column, first.statistics) ?? 0;
    return {
      verdict: { kind: 'scale', ranks: off.map(({ rank }) => rank), column, value, times: timesOf(value, usual) },
      marks: marksOf(off, (_, other) => other === column),
    };
  }
  return null;
}

function compare(known: readonly Known[]): Omit<Differences, 'step' | 'known'> {
  const none = new Map<number, ReadonlySet<Column>>();
  if (known.length < 2) return { verdict: { kind: 'unknown' }, marks: none };
  const bad = known.filter(({ statistics }) => specialsOf(statistics) > 0);
  const isSpecial = (statistics: Statistics, column: Column) =>
    (column === 'nan' || column === 'inf') && (valueIn(column, statistics) ?? 0) > 0;
  if (bad.length === known.length) return { verdict: { kind: 'no_rank_is_finite' }, marks: marksOf(bad, isSpecial) };
  if (bad.length > 0) {
    const sum = (column: Column) => bad.reduce((all, { statistics }) => all + (valueIn(column, statistics) ?? 0), 0);
    const verdict = { kind: 'not_finite', ranks: bad.map(({ rank }) => rank), nan: sum('nan'), inf: sum('inf') } as const;
    return { verdict, marks: marksOf(bad, isSpecial) };
  }
  const usual = majority(known);
  if (usual === null) return scaleOf(known) ?? { verdict: { kind: 'varied' }, marks: none };
  const apart = known.filter(({ statistics }) => !isSameIn(VALUES)(usual, statistics));
  const [first] = apart;
  if (first === undefined) return { verdict: { kind: 'same' }, marks: none };
  const column = VALUES.find((each) => !isSame(usual, first.statistics, each)) ?? 'l2';
  const value = valueIn(column, first.statistics);
  return {
    verdict: { kind: 'apart', ranks: apart.map(({ rank }) => rank), column, value, usual: valueIn(column, usual) },
    marks: marksOf(apart, (statistics, each) => !isSame(usual, statistics, each)),
  };
}

// Only values of the newest step are compared.
export function differencesOf(ranks: readonly RankStatistics[]): Differences {
  const step = ranks.reduce<number | null>((newest, { statistics, step: own }) => {
    return statistics === null || own === null ? newest : Math.max(newest ?? own, own);
  }, null);
  const known = ranks.filter((each): each is RankStatistics & Known => each.statistics !== null && each.step === step);
  return { ...compare(known), step, known: known.length };
}
