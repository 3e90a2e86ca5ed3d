import type { Statistics } from '../api/types';
import { formatCount, formatNumber } from '../base/format';

export function standardDeviation({ variance }: Statistics): number | null {
  return typeof variance === 'number' ? Math.sqrt(Math.max(0, variance)) : null;
}

const SHOWN: Array<[keyof Statistics, string, string]> = [
  ['min', 'min', 'Smallest finite element'],
  ['max', 'max', 'Largest finite element'],
  ['mean', 'mean', 'Mean of the finite elements'],
  ['abs_max', 'abs max', 'Largest size of a finite element'],
  ['l2', 'L2', 'Euclidean norm of the finite elements'],
];

interface LineProps {
  statistics: Statistics;
  // Of an earlier step than the one that is shown; null: of that one.
  old: number | null;
}

// The figures that say most, in a line.
export function StatisticsLine({ statistics, old }: LineProps) {
  const special: Array<[number, string, string]> = [
    [statistics.nan_count, 'nan', '✕ NaN'],
    [statistics.pos_inf_count, 'inf', '▲ +Inf'],
    [statistics.neg_inf_count, 'neg-inf', '▼ -Inf'],
  ];
  return (
    <dl className={old === null ? 'stats' : 'stats stats-old'} aria-label="Statistics">
      <div title="Not only of the slice that is shown">
        <dt>{old === null ? 'whole tensor' : `whole tensor, at step ${formatCount(old)}`}</dt>
      </div>
      <div>
        <dt>count</dt>
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
      {SHOWN.map(([key, label, title]) => (
        <div key={key} title={title}>
          <dt>{label}</dt>
          <dd className="mono">{formatNumber(statistics[key])}</dd>
        </div>
      ))}
      <div title="Standard deviation of the finite elements">
        <dt>std</dt>
        <dd className="mono">{formatNumber(standardDeviation(statistics))}</dd>
      </div>
      <div>
        <dt>zeros</dt>
        <dd className="mono">{formatCount(statistics.zero_count)}</dd>
      </div>
    </dl>
  );
}

const ALL: Array<[keyof Statistics, string]> = [
  ['count', 'elements'],
  ['nan_count', '✕ NaN'],
  ['pos_inf_count', '▲ +Inf'],
  ['neg_inf_count', '▼ -Inf'],
  ['zero_count', 'zeros'],
  ['negative_count', 'negative'],
  ['positive_count', 'positive'],
  ['min', 'min'],
  ['max', 'max'],
  ['mean', 'mean'],
  ['abs_mean', 'mean of sizes'],
  ['abs_max', 'largest size'],
  ['variance', 'variance'],
  ['l1', 'L1'],
  ['l2', 'L2'],
];

// All of them, beside a histogram.
export function StatisticsTable({ statistics, old }: LineProps) {
  return (
    <dl className={old === null ? 'stats-table' : 'stats-table stats-old'} aria-label="All statistics" tabIndex={0}>
      <div>
        <dt>whole tensor</dt>
        <dd>{old === null ? '' : `step ${formatCount(old)}`}</dd>
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
    </dl>
  );
}
