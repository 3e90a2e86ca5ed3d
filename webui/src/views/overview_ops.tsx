// The ops of a step below the picture of modules: which step, its ops over time, and the slowest.

import { Maximize, Minus, Plus } from 'lucide-react';
import { useCallback, useEffect, useMemo, useState } from 'react';
import type { OverviewOps } from '../api/types';
import { visible } from '../base/visible';
import { lanesOf, slowestOf, type TimedOp } from '../overview/op_lanes';
import { isWhole, wholeSpan, zoomSpan, type Span } from '../overview/span';
import { describe } from '../state/describe';
import { useOverviewOps } from '../state/overview_store';
import { useSelectedRank } from '../state/router';
import { touch } from '../state/ui';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import * as words from '../words/overview';
import { useJobContext } from './job_context';
import { OpTimeline, select } from './op_timeline';
import { ZOOM } from './overview_head';

const SLOWEST = 10;

function SlowestOps({ data }: { data: OverviewOps }) {
  const numbers = useMemo(() => slowestOf(data.ops, SLOWEST), [data]);
  return (
    <div className="op-slowest" tabIndex={0} role="group" aria-label={words.slowestOps}>
      <table aria-label={words.slowestOps}>
        <thead>
          <tr>
            <th>{words.opColumns.op}</th>
            <th className="number">{words.opColumns.time}</th>
            <th className="number">{words.opColumns.share}</th>
          </tr>
        </thead>
        <tbody>
          {numbers.map((number) => {
            const { node, duration_us } = data.ops[number] as TimedOp;
            return (
              <tr key={number}>
                <td className="op-slowest-name" title={visible(node)}>
                  <button type="button" className="link mono" onClick={() => select(node)}>
                    <bdi>{visible(node)}</bdi>
                  </button>
                </td>
                <td className="number mono">{words.microseconds(duration_us)}</td>
                <td className="number mono">{words.percent(duration_us / data.duration_us)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

// `value`: the chosen step, null for the newest one.
function StepChoice({ steps, value, onChange }: { steps: readonly number[]; value: number | null; onChange: (step: number | null) => void }) {
  const known = value === null || steps.includes(value) ? steps : [value, ...steps];
  return (
    <select
      className="field"
      aria-label={words.chooseStep}
      value={value ?? ''}
      onChange={({ target }) => {
        touch();
        onChange(target.value === '' ? null : Number(target.value));
      }}
    >
      <option value="">{words.newestStep}</option>
      {known.toReversed().map((step) => (
        <option key={step} value={step}>
          {words.step(step)}
        </option>
      ))}
    </select>
  );
}

function Legend() {
  return (
    <ul className="overview-legend" aria-label={words.legend(words.opsOverTime)}>
      {(['activation', 'gradient', 'optimizer', 'other'] as const).map((category) => (
        <li key={category}>
          <span className={`overview-swatch op-swatch-${category}`} /> {words.phases[category]}
        </li>
      ))}
    </ul>
  );
}

// `wanted`: the step that the user has gone to in the picture above, or null.
export function OverviewOpsPane({ wanted, lastStep }: { wanted: number | null; lastStep: number }) {
  const { id } = useJobContext();
  const rank = useSelectedRank();
  const [chosen, setChosen] = useState<number | null>(null);
  const [zoomed, setZoomed] = useState<Span | null>(null);
  const answer = useOverviewOps(id, rank, chosen, lastStep);
  const { data, error } = answer;
  const choose = useCallback((step: number | null) => {
    setChosen(step);
    setZoomed(null);
  }, []);
  const isKept = wanted !== null && data?.steps.includes(wanted) === true;
  useEffect(() => {
    if (isKept) choose(wanted);
    // Only when the user goes to another step.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [wanted]);
  useEffect(() => choose(null), [id, rank, choose]);
  const length = data?.duration_us ?? 1;
  const step = data?.step ?? 0;
  const span = useMemo(() => zoomed ?? wholeSpan(length), [zoomed, length]);
  const change = useCallback(
    (next: (span: Span) => Span) => {
      // The step in view stays, while others come.
      setChosen((now) => now ?? step);
      setZoomed((now) => {
        const wanted = next(now ?? wholeSpan(length));
        return isWhole(wanted, length) ? null : wanted;
      });
    },
    [length, step],
  );
  const lanes = useMemo(() => lanesOf(data?.ops ?? []).length, [data]);
  const zoom = (factor: number) => change((now) => zoomSpan(now, factor, (now.from + now.to) / 2, length));
  const none = zoomed === null ? words.wholeShown : undefined;
  return (
    <section className="overview-ops" aria-label={words.opsOfStep(step)}>
      <header className="overview-detail-head">
        <h3>{words.opsOfStep(step)}</h3>
        <StepChoice steps={data?.steps ?? []} value={chosen} onChange={choose} />
        {data !== undefined && (
          <span className="ellipsis muted">
            {words.opsCount(data.ops.length, lanes, data.duration_us)}
            {data.left_out > 0 && ` · ${words.opsLeftOut(data.left_out)}`}
          </span>
        )}
        <span className="grow" />
        <Button label={words.zoomOutTime} icon={Minus} iconOnly small tone="quiet" disabledReason={none} onClick={() => zoom(1 / ZOOM)} />
        <Button label={words.zoomInTime} icon={Plus} iconOnly small tone="quiet" onClick={() => zoom(ZOOM)} />
        <Button label={words.wholeStep} icon={Maximize} iconOnly small tone="quiet" disabledReason={none} onClick={() => setZoomed(null)} />
      </header>
      {data === undefined || error !== null ? (
        <Notice title={error === null ? words.loadingOps : describe(error)} busy={error === null} />
      ) : (
        <div className="overview-ops-body">
          <OpTimeline data={data} span={span} onSpan={change} />
          <SlowestOps data={data} />
        </div>
      )}
      <footer className="overview-ops-foot">
        <Legend />
        <span className="ellipsis">{words.callsOnly}</span>
      </footer>
    </section>
  );
}
