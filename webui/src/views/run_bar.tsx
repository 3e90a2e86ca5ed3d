// The steps of a recorded run: a slider below a curve with the hits, and buttons to move.

import { ChevronFirst, ChevronLast, Pause, Play, StepBack, StepForward } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { RecordedStep } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import { useChecks } from '../state/checks';
import { useJob } from '../state/job_store';
import { chooseCurve, goToStep, useRun } from '../state/run_store';
import { useSelectedRank } from '../state/router';
import { curvePath, moveStep, nearestStep, nextMark } from '../state/timeline';
import { touch } from '../state/ui';
import { Button } from '../widgets/button';
import { useElementSize } from '../widgets/use_size';
import * as words from '../words/run';
import './run_bar.css';

const PLAY_MS = 400;
const CURVE_PX = 26;

// The distinct steps of the recorded hits, and of those that checks have found on this rank, ascending.
function useHitSteps(): number[] {
  const hits = useJob((state) => state.model.hits);
  const checks = useChecks((state) => state.checks);
  const rank = useSelectedRank();
  return useMemo(() => {
    const found = checks.flatMap(({ report }) => report?.hits ?? []).filter((hit) => hit.rank === rank);
    return [...new Set([...hits, ...found].map(({ step }) => step))].sort((a, b) => a - b);
  }, [hits, checks, rank]);
}

// The steps in which users have changed the program on this rank.
function useChangedSteps(): number[] {
  const changes = useRun(({ run }) => run?.user_changes);
  const rank = useSelectedRank();
  return useMemo(() => [...new Set((changes ?? []).filter((change) => change.rank === rank).map(({ step }) => step))], [changes, rank]);
}

// The known facts about the step, as short text.
function factsOf(entries: readonly RecordedStep[]): string {
  return entries
    .map(({ mode, passes, reason }, i) => {
      const name = words.modeNames[mode];
      const what = i === 0 && passes <= 1 ? name : words.withPasses(passes, name);
      return reason === null ? what : `${what}, ${words.reasons[reason]}`;
    })
    .join(' · ');
}

// Moves on until the last step, or until the returned function is called.
function usePlay(step: number, steps: readonly number[]) {
  const [playing, setPlaying] = useState(false);
  const last = steps.at(-1) ?? 0;
  useEffect(() => {
    if (!playing) return undefined;
    if (step >= last) {
      setPlaying(false);
      return undefined;
    }
    const timer = setTimeout(() => goToStep(moveStep(steps, step, 1)), PLAY_MS);
    return () => clearTimeout(timer);
  }, [playing, step, steps, last]);
  return { playing, setPlaying };
}

// The arrow keys move from anywhere but fields, lists and grids, which use them themselves.
function useArrows(move: (by: number) => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const busy = (event.target as HTMLElement).closest(
        'input, select, textarea, [role=dialog], [role=tree], [role=grid], [role=tablist], [role=listbox], [role=menu], [role=img]',
      );
      if (busy !== null || (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight')) return;
      event.preventDefault();
      move((event.key === 'ArrowLeft' ? -1 : 1) * (event.shiftKey ? 10 : 1));
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });
}

interface Marks {
  hits: readonly number[];
  changes: readonly number[];
}

function Backdrop({ first, last, marks }: { first: number; last: number; marks: Marks }) {
  const frame = useRef<HTMLDivElement>(null);
  const { width } = useElementSize(frame);
  const curve = useRun((state) => state.curve);
  const at = (step: number) => ((step - first) / (last - first || 1)) * width;
  const path = useMemo(
    () => (curve === null ? '' : curvePath(curve.points, first, last, Math.max(1, width), CURVE_PX)),
    [curve, first, last, width],
  );
  const label = curve === null ? undefined : words.curveOf(curve.name);
  return (
    <div className="run-curve" ref={frame} title={label}>
      <svg width={width} height={CURVE_PX} role={curve === null ? undefined : 'img'} aria-label={label} aria-hidden={curve === null}>
        <path className="run-curve-line" d={path} />
        {marks.changes.map((step) => (
          <line key={step} className="run-change" x1={at(step)} x2={at(step)} y1={0} y2={CURVE_PX} />
        ))}
        {marks.hits.map((step) => (
          <line key={step} className="run-hit" x1={at(step)} x2={at(step)} y1={CURVE_PX - 6} y2={CURVE_PX} />
        ))}
      </svg>
    </div>
  );
}

export function RunBar() {
  const { run, steps, entries, curve, scalars } = useRun();
  const step = useJob(({ model }) => model.info?.step ?? 0);
  const hitSteps = useHitSteps();
  const changedSteps = useChangedSteps();
  const { playing, setPlaying } = usePlay(step, steps);
  const go = (to: number | null) => {
    if (to === null) return;
    touch();
    goToStep(to);
  };
  const move = (by: number) => {
    setPlaying(false);
    go(moveStep(steps, step, by));
  };
  useArrows(move);
  const [first, last] = [steps[0] ?? 0, steps.at(-1) ?? 0];
  const nearest = nearestStep(steps, step);
  const here = entries.filter((entry) => entry.step === step);
  const value = curve?.points.find((point) => point.step === step)?.value;
  const before = nextMark(hitSteps, step, -1);
  const after = nextMark(hitSteps, step, 1);
  const facts = nearest !== null && nearest !== step ? words.notRecordedStep(nearest) : factsOf(here);
  if (run !== null && run.ended !== null && run.last_step === 0 && steps.length === 0) {
    return <div className="controls muted">{words.noSteps}</div>;
  }
  return (
    <div className="controls run-bar" role="toolbar" aria-label={words.stepsOfRun}>
      <Button label={words.previousHit} icon={ChevronFirst} iconOnly disabledReason={before === null ? words.noHitBefore : ''} onClick={() => go(before)} />
      <Button label={words.previousStep} icon={StepBack} iconOnly shortcut="←" disabledReason={step <= first ? words.firstStepShown : ''} onClick={() => move(-1)} />
      <Button
        label={playing ? words.pausePlaying : words.play}
        icon={playing ? Pause : Play}
        iconOnly
        hint={words.playHint}
        disabledReason={!playing && step >= last ? words.lastStepShown : ''}
        onClick={() => setPlaying(!playing)}
      />
      <Button label={words.nextStep} icon={StepForward} iconOnly shortcut="→" disabledReason={step >= last ? words.lastStepShown : ''} onClick={() => move(1)} />
      <Button label={words.nextHit} icon={ChevronLast} iconOnly disabledReason={after === null ? words.noHitAfter : ''} onClick={() => go(after)} />
      <div className="run-slider">
        <Backdrop first={first} last={last} marks={{ hits: hitSteps, changes: changedSteps }} />
        <input
          type="range"
          aria-label={words.step}
          aria-valuetext={words.sliderText(step, last)}
          min={0}
          max={Math.max(0, steps.length - 1)}
          value={Math.max(0, steps.indexOf(nearest ?? first))}
          onChange={(event) => {
            setPlaying(false);
            go(steps[Number(event.target.value)] ?? null);
          }}
        />
      </div>
      <span className="mono run-step">
        {formatCount(step)} / {formatCount(last)}
      </span>
      {value !== undefined && <span className="muted mono">{formatNumber(value)}</span>}
      {curve !== null && scalars.length > 1 && (
        <select className="field run-curve-choice" aria-label={words.curveShown} title={curve.name} value={curve.name} onChange={(event) => void chooseCurve(event.target.value)}>
          {scalars.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
      <span className="muted ellipsis run-facts" title={facts}>
        {facts}
      </span>
    </div>
  );
}
