// Run control: buttons, the shortcuts that debuggers in browsers and editors use, and
// the reason for the current pause.

import { ArrowDownToDot, Pause, Pencil, Play, RotateCcw, SkipForward, Square } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import type { ControlCommand, Incident, Job } from '../api/types';
import { useAuth } from '../state/auth';
import { useConditionText, targetText } from '../state/condition_text';
import { useTargets } from '../state/command_ranks';
import { availability, commandOfKey, rankFor, ranksApart } from '../state/controls';
import { originOfStop, stoppingHit } from '../state/hits';
import { incidentOfStop, useIncidents } from '../state/incidents';
import { sendCommand, useJob } from '../state/job_store';
import { showOverlay } from '../state/ui';
import { changeWatchpoint } from '../state/watchpoints';
import { Button } from '../widgets/button';
import { Confirm } from '../widgets/confirm';
import { FullName } from '../widgets/full_name';
import { Tooltip } from '../widgets/tooltip';
import { change, changeHint } from '../words/change_orders';
import * as words from '../words/control';
import { headline, ofStep, onRank } from '../words/incidents';
import { useReasonAgainstChange, useReasonAgainstWatching } from './use_reason_against';
import './controls.css';

// Only jobs of several ranks have one.
const RankChooser = lazy(async () => ({ default: (await import('./rank_chooser')).RankChooser }));

const ICONS = {
  continue: Play,
  pause: Pause,
  step: ArrowDownToDot,
  next_node: SkipForward,
  recheck: RotateCcw,
  terminate: Square,
} as const;

const SHORTCUTS = {
  continue: words.continueKeys,
  pause: 'F6',
  step: 'F10',
  next_node: 'F11',
  recheck: undefined,
  terminate: 'Shift+F5',
} as const;

type ButtonCommand = keyof typeof ICONS;

// The incident that has paused the job.
function useStopIncident(): Incident | null {
  const job = useJob((state) => state.id);
  const incidents = useIncidents((state) => (state.job === job ? state.incidents : null));
  return useJob(({ model }) => incidentOfStop(model, incidents));
}

interface Reason {
  text: string;
  // The node that the text names, with what is before and after it: it is cut where there is too little room.
  around?: { before: string; node: string; after: string };
}

const NO_REASON: Reason = { text: '' };

function useStopReason(job: Job | null): Reason {
  const { conditionText, incidentTitle, actualText } = useConditionText();
  const hit = useJob(({ model }) => stoppingHit(model));
  const watchpoints = useJob((state) => state.model.watchpoints);
  const incident = useStopIncident();
  const apart = job === null ? null : ranksApart(job);
  if (apart !== null) return { text: words.ranksApart(apart.paused, apart.running) };
  if (job === null || job.state !== 'paused') return NO_REASON;
  if (incident !== null) {
    const { origin } = incident;
    const before = headline(incidentTitle(incident));
    const after = ofStep(job.step) + (job.world_size > 1 ? onRank(origin.rank) : '');
    return { text: before + origin.node + after, around: { before, node: origin.node, after } };
  }
  const by = (job.stopped_by ?? []).map((id) => watchpoints.find((other) => other.id === id));
  const first = by.find((watchpoint) => watchpoint !== undefined);
  if (job.pause_reason === 'watchpoint' && first !== undefined) {
    const { id, params } = first.condition;
    const what = hit === null ? words.onTarget(targetText(first)) : `· ${actualText(hit)}`;
    return { text: words.stoppedBy(first.id, conditionText(id, params), what) + words.andMore(by.length - 1) };
  }
  return job.pause_reason === 'start' ? { text: words.setWatchpointsFirst } : NO_REASON;
}

// NaN and infinity spread to every later op, and pausing at each of them does not help.
function OncePerStep() {
  const watchpoint = useJob(({ model }) => {
    const hit = originOfStop(model);
    if (hit?.origin !== 'propagated') return null;
    return model.watchpoints.find(({ id, pause }) => id === hit.watchpoint && pause === 'node') ?? null;
  });
  const unavailable = useReasonAgainstWatching();
  if (watchpoint === null) return null;
  return (
    <Button
      label={words.stopOncePerStep}
      hint={words.stopOncePerStepHint(watchpoint.id)}
      small
      disabledReason={unavailable}
      onClick={() => void changeWatchpoint(watchpoint.id, { pause: 'step' })}
    />
  );
}

function StopReason({ text, around }: Reason) {
  if (around === undefined) {
    return (
      <span className="controls-reason ellipsis" title={text}>
        {text}
      </span>
    );
  }
  const { before, node, after } = around;
  return (
    <span className="controls-reason controls-stop" title={text}>
      <span className="ellipsis">{before}</span>
      <FullName name={node} />
      <span>{after}</span>
    </span>
  );
}

export function Controls() {
  const job = useJob((state) => state.model.info);
  const connection = useJob((state) => state.connection);
  const pending = useJob((state) => state.pending);
  const session = useAuth((state) => state.session);
  const targets = useTargets(job?.id ?? null);
  const [steps, setSteps] = useState('1');
  const [asking, setAsking] = useState(false);
  const reason = useStopReason(job);
  const noChange = useReasonAgainstChange();
  const count = /^[1-9]\d{0,8}$/.test(steps.trim()) ? Number(steps) : null;

  const can = (command: ControlCommand) => {
    const { enabled, reason } = availability(command, job, connection === 'live', pending, session, targets);
    if (enabled && command === 'step' && count === null) return words.stepCountWrong;
    return reason;
  };
  const run = (command: ControlCommand) => {
    if (can(command) !== '') return;
    if (command === 'terminate') setAsking(true);
    else void sendCommand(command, command === 'step' ? { steps: count ?? 1 } : {});
  };

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const other = event.ctrlKey || event.metaKey || event.altKey;
      const command = commandOfKey(event.key, event.shiftKey, other);
      if (command === null) return;
      // Otherwise F5 would reload the page.
      event.preventDefault();
      if (!event.repeat && !asking) run(command);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });

  const several = job !== null && job.ranks.length > 1;
  const ends = job?.pause_reason === 'error';
  const hintOf = (command: ButtonCommand) => {
    if (ends && command === 'continue') return words.endHint;
    const only = rankFor(command, job, targets);
    return only === null ? words.commandHints[command] : words.onlyRank(words.commandHints[command], only);
  };
  const captionOf = (command: ButtonCommand) => {
    const only = rankFor(command, job, targets);
    if (only !== null) return words.rankCaption(only);
    return several && command === 'step' ? words.allRanksCaption : '';
  };
  const button = (command: ButtonCommand, tone?: 'primary' | 'danger' | 'quiet') => (
    <Button
      label={words.commandNames[command]}
      caption={captionOf(command)}
      icon={ICONS[command]}
      hint={hintOf(command)}
      shortcut={SHORTCUTS[command]}
      disabledReason={can(command)}
      pending={pending?.command === command}
      onClick={() => run(command)}
      {...(tone === undefined ? {} : { tone })}
    />
  );

  const chooser = (command: 'step' | 'next_node', chosen: number | null) =>
    several && (
      <Suspense fallback={null}>
        <RankChooser job={job} command={command} chosen={chosen} />
      </Suspense>
    );

  return (
    <div className="controls" role="toolbar" aria-label={words.runControl}>
      {button('continue', ends ? undefined : 'primary')}
      {button('pause')}
      <span className="controls-line" />
      <span className="controls-step">
        {button('step')}
        <Tooltip text={words.stepCountHint}>
          <input
            className="field mono controls-count"
            aria-label={words.stepCount}
            inputMode="numeric"
            value={steps}
            aria-invalid={count === null || undefined}
            onChange={(event) => {
              // Ignores keys that are not digits.
              if (/^\d*$/.test(event.target.value)) setSteps(event.target.value);
            }}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return;
              run('step');
              event.currentTarget.blur();
            }}
          />
        </Tooltip>
        {chooser('step', targets.step)}
      </span>
      <span className="controls-step">
        {button('next_node')}
        {chooser('next_node', targets.one)}
      </span>
      <span className="controls-line" />
      {button('recheck')}
      {button('terminate', 'danger')}
      <Button
        label={change}
        hint={changeHint}
        icon={Pencil}
        iconOnly
        tone="quiet"
        disabledReason={noChange}
        onClick={() => showOverlay('change')}
      />
      <StopReason {...reason} />
      <OncePerStep />
      <Confirm
        open={asking}
        title={words.confirmTerminate(job?.name ?? words.theJob)}
        text={words.terminateWarning}
        action={words.terminateJob}
        onConfirm={() => void sendCommand('terminate')}
        onClose={() => setAsking(false)}
      />
    </div>
  );
}
