// The recorded statistics of a tensor over the steps, with its hits.

import { useMemo, useState } from 'react';
import type { Statistics, TensorSummary } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import { toNumber } from '../base/numbers';
import { isRun } from '../base/run_id';
import { useConditionText } from '../state/condition_text';
import { describe } from '../state/describe';
import { hasEnded } from '../state/job';
import { useJob } from '../state/job_store';
import { useHistory } from '../state/queries';
import { pointsOf } from '../state/timeline';
import { LinePlot, type PlotMark } from '../widgets/line_plot';
import { Notice } from '../widgets/notice';
import * as counts from '../words/counts';
import { statisticNames } from '../words/tensor';
import { specialNames } from '../words/tensor';
import * as words from '../words/tensor_views';
import { useJobContext } from './job_context';
import { KeepOffer, useKeeper } from './keep_offer';
import { standardDeviation } from './statistics_line';
import './tensor_history.css';

type Measure = { id: string; label: string; of: (statistics: Statistics) => number | null };

const number = (value: Statistics['mean']) => (value === null ? null : toNumber(value));

const MEASURES: Measure[] = [
  { id: 'mean', label: statisticNames.mean, of: (s) => number(s.mean) },
  { id: 'max', label: statisticNames.max, of: (s) => number(s.max) },
  { id: 'min', label: statisticNames.min, of: (s) => number(s.min) },
  { id: 'std', label: statisticNames.std, of: standardDeviation },
  { id: 'abs_max', label: statisticNames.abs_max, of: (s) => number(s.abs_max) },
  { id: 'l2', label: statisticNames.l2, of: (s) => number(s.l2) },
];

const SHOWN_AT_FIRST = ['mean', 'max', 'min'];

function specialsText(s: Statistics): string {
  const parts: Array<[number, string]> = [
    [s.nan_count, specialNames.nan],
    [s.pos_inf_count, specialNames.inf],
    [s.neg_inf_count, specialNames.neg_inf],
  ];
  return parts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(', ');
}

// Marks of this tensor's hits, one per step.
function useHitMarks(tensor: TensorSummary, rank: number, steps: readonly number[]): PlotMark[] {
  const hits = useJob((state) => state.model.hits);
  const { conditionText } = useConditionText();
  return useMemo(() => {
    const known = new Set(steps);
    const marks = new Map<number, string>();
    for (const hit of hits) {
      if (hit.node !== tensor.node || hit.slot !== tensor.slot || hit.rank !== rank) continue;
      if (known.has(hit.step)) marks.set(hit.step, conditionText(hit.condition, hit.params));
    }
    return [...marks].map(([x, title]) => ({ x, title: words.hitAtStep(x, title) }));
  }, [hits, tensor.node, tensor.slot, rank, steps, conditionText]);
}


export function TensorHistoryView({ tensor, rank }: { tensor: TensorSummary; rank: number }) {
  const { id } = useJobContext();
  const version = useJob(({ model }) => `${model.stops}:${model.hit_version}`);
  const history = useHistory(id, tensor.name, rank, version);
  const [shown, setShown] = useState<readonly string[]>(SHOWN_AT_FIRST);
  const [log, setLog] = useState(false);
  const [cursor, setCursor] = useState<number | null>(null);
  const points = useMemo(() => (history.data === undefined ? [] : pointsOf(history.data)), [history.data]);
  const steps = useMemo(() => points.map((point) => point.step), [points]);
  const hits = useHitMarks(tensor, rank, steps);
  const keeper = useKeeper('history', tensor.node);
  const ended = useJob(({ model }) => hasEnded(model.info)) || isRun(id);

  if (history.error !== null) {
    return (
      <Notice title={words.historyNotLoaded} tone="error">
        {describe(history.error)}
      </Notice>
    );
  }
  if (history.data === undefined) return <Notice title={words.loadingHistory} busy />;
  if (points.length === 0) {
    return (
      <Notice title={ended ? words.noHistory : words.noHistoryYet}>
        {!isRun(id) && <KeepOffer what="history" node={tensor.node} keeper={keeper} otherwise={words.knownSteps} />}
      </Notice>
    );
  }
  const span = (steps.at(-1) as number) - (steps[0] as number) + 1;
  const stepsText =
    span > points.length ? words.someSteps(formatCount(points.length), formatCount(span)) : counts.steps(span);
  const at = points[Math.min(cursor ?? points.length - 1, points.length - 1)];
  const nans = points.flatMap(({ step, statistics }) => {
    const text = specialsText(statistics);
    return text === '' ? [] : [{ x: step, title: words.atStep(step, text) }];
  });
  const lines = MEASURES.flatMap((measure, i) =>
    shown.includes(measure.id)
      ? [{ name: measure.label, style: i + 1, values: points.map(({ statistics }) => measure.of(statistics)) }]
      : [],
  );
  return (
    <div className="history">
      <div className="view-bar" role="group" aria-label={words.shownStatistics}>
        {MEASURES.map(({ id: name, label }, i) => (
          <label key={name} className="view-choice">
            <input
              type="checkbox"
              checked={shown.includes(name)}
              onChange={(event) =>
                setShown(event.target.checked ? [...shown, name] : shown.filter((other) => other !== name))
              }
            />
            <svg width="18" height="8" aria-hidden>
              <line className={`plot-line plot-${i + 1}`} x1="0" x2="18" y1="4" y2="4" />
            </svg>
            {label}
          </label>
        ))}
        <span className="grow" />
        <label className="view-choice">
          <input type="checkbox" checked={log} onChange={(event) => setLog(event.target.checked)} />
          {words.logScale}
        </label>
      </div>
      <div className="view-plot">
        <LinePlot
          label={words.historyOf(tensor.name)}
          x={steps}
          series={lines}
          hits={hits}
          nans={nans}
          log={log}
          cursor={cursor}
          onCursor={setCursor}
        />
      </div>
      {keeper.state !== 'on' && !ended && (
        <KeepOffer what="history" node={tensor.node} keeper={keeper} otherwise={words.knownSteps} />
      )}
      <footer className="values-foot">
        <span className="mono ellipsis" aria-live="polite">
          {at !== undefined && historyText(at.step, at.statistics, shown)}
        </span>
        <span className="grow" />
        <span className="muted" title={words.knownSteps}>
          {words.stepsRecorded(stepsText)}
          {hits.length > 0 && words.withHits(formatCount(hits.length))}
        </span>
      </footer>
    </div>
  );
}

function historyText(step: number, statistics: Statistics, shown: readonly string[]): string {
  const parts = MEASURES.filter(({ id }) => shown.includes(id)).map(
    ({ label, of }) => `${label} ${formatNumber(of(statistics))}`,
  );
  const specials = specialsText(statistics);
  return words.stepFigures(step, [...parts, specials].filter((part) => part !== '').join('  '));
}
