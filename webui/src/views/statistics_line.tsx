import type { Statistics } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import * as words from '../words/tensor';

export function standardDeviation({ variance }: Statistics): number | null {
  return typeof variance === 'number' ? Math.sqrt(Math.max(0, variance)) : null;
}

const { statisticNames: names, statisticHints: hints, specialMarks: marks } = words;

const SHOWN = ['min', 'max', 'mean', 'abs_max', 'l2'] as const;

interface LineProps {
  statistics: Statistics;
  // The step of the statistics if it is earlier than the one shown, else null.
  old: number | null;
}

// The most important statistics, in one line.
export function StatisticsLine({ statistics, old }: LineProps) {
  const special: Array<[number, string, string]> = [
    [statistics.nan_count, 'nan', marks.nan],
    [statistics.pos_inf_count, 'inf', marks.inf],
    [statistics.neg_inf_count, 'neg-inf', marks.neg_inf],
  ];
  return (
    <dl className={old === null ? 'stats' : 'stats stats-old'} aria-label={words.statistics}>
      <div title={words.wholeTensorHint}>
        <dt>{old === null ? words.wholeTensor : words.wholeTensorAt(formatCount(old))}</dt>
      </div>
      <div>
        <dt>{names.count}</dt>
        <dd className="mono">{formatCount(statistics.count)}</dd>
      </div>
      {special
        .filter(([count]) => count > 0)
        .map(([count, kind, label]) => (
          <div key={label} className={`special special-${kind}`}>
            <dt>{label}</dt>
            <dd className="mono">{formatCount(count)}</dd>
          </div>
        ))}
      {SHOWN.map((key) => (
        <div key={key} title={hints[key]}>
          <dt>{names[key]}</dt>
          <dd className="mono">{formatNumber(statistics[key])}</dd>
        </div>
      ))}
      {statistics.quantiles !== undefined &&
        (['p50', 'p99'] as const).map((key) => (
          <div key={key} title={hints[key]}>
            <dt>{names[key]}</dt>
            <dd className="mono">{formatNumber(statistics.quantiles?.[key])}</dd>
          </div>
        ))}
      <div title={hints.std}>
        <dt>{names.std}</dt>
        <dd className="mono">{formatNumber(standardDeviation(statistics))}</dd>
      </div>
      <div>
        <dt>{names.zeros}</dt>
        <dd className="mono">{formatCount(statistics.zero_count)}</dd>
      </div>
    </dl>
  );
}

const ALL: Array<[Exclude<keyof Statistics, 'quantiles'>, string]> = [
  ['count', names.elements],
  ['nan_count', marks.nan],
  ['pos_inf_count', marks.inf],
  ['neg_inf_count', marks.neg_inf],
  ['zero_count', names.zeros],
  ['negative_count', names.negative],
  ['positive_count', names.positive],
  ['min', names.min],
  ['max', names.max],
  ['mean', names.mean],
  ['abs_mean', names.abs_mean],
  ['abs_max', names.abs_max],
  ['variance', names.variance],
  ['l1', names.l1],
  ['l2', names.l2],
];

// All statistics, in a table beside the histogram.
export function StatisticsTable({ statistics, old }: LineProps) {
  return (
    <dl className={old === null ? 'stats-table' : 'stats-table stats-old'} aria-label={words.allStatistics} tabIndex={0}>
      <div>
        <dt>{words.wholeTensor}</dt>
        <dd>{old === null ? '' : words.step(formatCount(old))}</dd>
      </div>
      {ALL.map(([key, label]) => {
        const value = statistics[key];
        const count = key.endsWith('count') && typeof value === 'number';
        return (
          <div key={key}>
            <dt>{label}</dt>
            <dd className="mono">{count ? formatCount(value) : formatNumber(value, 5)}</dd>
          </div>
        );
      })}
      {Object.entries(statistics.quantiles ?? {}).map(([name, value]) => (
        <div key={name} title={words.quantileHint(Number(name.slice(1)))}>
          <dt>{name}</dt>
          <dd className="mono">{formatNumber(value, 5)}</dd>
        </div>
      ))}
    </dl>
  );
}
