// The statistics of two tensors in a table, where their values were not recorded.

import type { Statistics } from '../api/types';
import { formatNumber } from '../base/format';
import { toNumber, type Num } from '../base/numbers';
import { describe } from '../state/describe';
import { useStatistics, type ValueQuery } from '../state/queries';
import { Notice } from '../widgets/notice';
import { loading } from '../words/common';
import { statisticNames, statisticHints } from '../words/tensor';
import * as words from '../words/tensor_views';
import { standardDeviation } from './statistics_line';

type Value = Num | null;

interface Row {
  name: string;
  hint?: string;
  of: (statistics: Statistics) => Value;
}

const ROWS: readonly Row[] = [
  { name: statisticNames.count, of: ({ count }) => count },
  { name: words.specialCounts.nan, of: ({ nan_count }) => nan_count },
  { name: words.specialCounts.pos_inf, of: ({ pos_inf_count }) => pos_inf_count },
  { name: words.specialCounts.neg_inf, of: ({ neg_inf_count }) => neg_inf_count },
  { name: statisticNames.min, hint: statisticHints.min, of: ({ min }) => min },
  { name: statisticNames.max, hint: statisticHints.max, of: ({ max }) => max },
  { name: statisticNames.mean, hint: statisticHints.mean, of: ({ mean }) => mean },
  { name: statisticNames.abs_max, hint: statisticHints.abs_max, of: ({ abs_max }) => abs_max },
  { name: statisticNames.l2, hint: statisticHints.l2, of: ({ l2 }) => l2 },
  { name: statisticNames.std, hint: statisticHints.std, of: standardDeviation },
  { name: statisticNames.zeros, of: ({ zero_count }) => zero_count },
];

const text = (value: Value) => (value === null ? '–' : formatNumber(toNumber(value)));

function differenceText(before: Value, after: Value): string {
  if (before === null || after === null) return '';
  const difference = toNumber(after) - toNumber(before);
  return Number.isNaN(difference) ? '' : formatNumber(difference);
}

interface Props {
  // The other side of the comparison and the selected tensor.
  before: ValueQuery;
  after: ValueQuery;
  titles: readonly [string, string];
  // The other steps whose values were recorded.
  saved: readonly number[];
}

export function StatisticsCompare({ before, after, titles, saved }: Props) {
  const [left, right] = [useStatistics({ ...before, enabled: true }), useStatistics({ ...after, enabled: true })];
  const problem = left.error ?? right.error;
  if (problem !== null) return <Notice title={words.nothingToCompare}>{describe(problem)}</Notice>;
  if (left.data === undefined || right.data === undefined) return <Notice title={loading} busy />;
  const [from, to] = [left.data.statistics, right.data.statistics];
  return (
    <div className="compare-statistics">
      <p className="muted">
        {words.onlyStatistics} {words.savedSteps(saved)}
      </p>
      <table aria-label={words.statisticsCompared}>
        <thead>
          <tr>
            <th scope="col">{words.statistic}</th>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
            <th scope="col">{words.difference}</th>
          </tr>
        </thead>
        <tbody className="mono">
          {ROWS.map(({ name, hint, of }) => (
            <tr key={name} title={hint}>
              <th scope="row">{name}</th>
              <td>{text(of(from))}</td>
              <td>{text(of(to))}</td>
              <td>{differenceText(of(from), of(to))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
