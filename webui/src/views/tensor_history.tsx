// What is known of a tensor's statistics, step by step, with its hits.

import { useMemo, useState } from 'react';
import { describe } from '../api/problem';
import type { Statistics, TensorSummary } from '../api/types';
import { formatCount, formatNumber, plural } from '../base/format';
import { toNumber } from '../base/numbers';
import { hasEnded } from '../state/job';
import { useJob } from '../state/job_store';
import { useHistory } from '../state/queries';
import { useConditionText } from '../state/condition_text';
import { LinePlot, type PlotMark } from '../widgets/line_plot';
import { Notice } from '../widgets/notice';
import { useJobContext } from './job_context';
import { KeepOffer, useKeeper } from './keep_offer';
import { standardDeviation } from './statistics_line';
import './tensor_history.css';

type Measure = { id: string; label: string; of: (statistics: Statistics) => number | null };

const number = (value: Statistics['mean']) => (value === null ? null : toNumber(value));

const MEASURES: Measure[] = [
  { id: 'mean', label: 'mean', of: (s) => number(s.mean) },
  { id: 'max', label: 'max', of: (s) => number(s.max) },
  { id: 'min', label: 'min', of: (s) => number(s.min) },
  { id: 'std', label: 'std', of: standardDeviation },
  { id: 'abs_max', label: 'abs max', of: (s) => number(s.abs_max) },
  { id: 'l2', label: 'L2', of: (s) => number(s.l2) },
];

const FIRST = ['mean', 'max', 'min'];

function specialsText(s: Statistics): string {
  const parts: Array<[number, string]> = [
    [s.nan_count, 'NaN'],
    [s.pos_inf_count, '+Inf'],
    [s.neg_inf_count, '-Inf'],
  ];
  return parts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(', ');
}

// Hits of this tensor, one mark a step.
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
    return [...marks].map(([x, title]) => ({ x, title: `Hit at step ${x}: ${title}` }));
  }, [hits, tensor.node, tensor.slot, rank, steps, conditionText]);
}

const KNOWN = 'A step is known when the job stopped and this tensor was looked at, and each step while it is watched.';

export function TensorHistoryView({ tensor, rank }: { tensor: TensorSummary; rank: number }) {
  const { id } = useJobContext();
  const version = useJob(({ model }) => `${model.stops}:${model.hit_version}`);
  const history = useHistory(id, tensor.name, rank, version);
  const [shown, setShown] = useState<readonly string[]>(FIRST);
  const [log, setLog] = useState(false);
  const [cursor, setCursor] = useState<number | null>(null);
  const points = useMemo(() => history.data?.points ?? [], [history.data]);
  const steps = useMemo(() => points.map((point) => point.step), [points]);
  const hits = useHitMarks(tensor, rank, steps);
  const keeper = useKeeper('history', tensor.node);
  const ended = useJob(({ model }) => hasEnded(model.info));

  if (history.error !== null) {
    return (
      <Notice title="The history could not be loaded" tone="error">
        {describe(history.error)}
      </Notice>
    );
  }
  if (history.data === undefined) return <Notice title="Loading the history" busy />;
  if (points.length === 0) {
    return (
      <Notice title={ended ? 'No history' : 'No history yet'}>
        <KeepOffer what="history" node={tensor.node} keeper={keeper} otherwise={KNOWN} />
      </Notice>
    );
  }
  const span = (steps.at(-1) as number) - (steps[0] as number) + 1;
  const known = span > points.length ? `${formatCount(points.length)} of ${formatCount(span)} steps` : plural(span, 'step');
  const at = points[Math.min(cursor ?? points.length - 1, points.length - 1)];
  const nans = points.flatMap(({ step, statistics }) => {
    const text = specialsText(statistics);
    return text === '' ? [] : [{ x: step, title: `Step ${step}: ${text}` }];
  });
  const lines = MEASURES.flatMap((measure, i) =>
    shown.includes(measure.id)
      ? [{ name: measure.label, style: i + 1, values: points.map(({ statistics }) => measure.of(statistics)) }]
      : [],
  );
  return (
    <div className="history">
      <div className="view-bar" role="group" aria-label="Lines">
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
          log
        </label>
      </div>
      <div className="view-plot">
        <LinePlot
          label={`History of ${tensor.name}`}
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
        <KeepOffer what="history" node={tensor.node} keeper={keeper} otherwise="Only steps at whose stop it was looked at are known." />
      )}
      <footer className="values-foot">
        <span className="mono ellipsis" aria-live="polite">
          {at !== undefined && historyText(at.step, at.statistics, shown)}
        </span>
        <span className="grow" />
        <span className="muted" title="A step is kept when the job stops and this tensor is looked at, and while it is watched">
          {known}
          {hits.length > 0 && `, ${formatCount(hits.length)} with hits`}
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
  return [`step ${step}:`, [...parts, specials].filter((part) => part !== '').join('  ')].join(' ');
}
