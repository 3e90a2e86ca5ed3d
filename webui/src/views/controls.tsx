// Run control: buttons, the keys of browsers' and editors' debuggers, and why the
// job stands where it stands.

import { ArrowDownToDot, Pause, Play, RotateCcw, SkipForward, Square } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { ControlCommand, Job } from '../api/types';
import { availability, COMMAND_NAMES, commandOfKey } from '../state/controls';
import { sendCommand, useJob } from '../state/job_store';
import { useConditionText, targetText } from '../state/condition_text';
import { stoppingHit } from '../state/hits';
import { changeWatchpoint } from '../state/watchpoints';
import { Button } from '../widgets/button';
import { Confirm } from '../widgets/confirm';
import { Tooltip } from '../widgets/tooltip';
import './controls.css';

const ICONS = {
  continue: Play,
  pause: Pause,
  step: ArrowDownToDot,
  next_node: SkipForward,
  recheck: RotateCcw,
  terminate: Square,
} as const;

const HINTS = {
  continue: 'Run until something stops the job',
  pause: 'Stop at the next node',
  step: 'Run this many steps, then stop',
  next_node: 'Run one node, then stop',
  recheck: 'Check changed watchpoints on the values of this stop',
  terminate: 'End the job',
} as const;

const SHORTCUTS = {
  continue: 'F8 or F5',
  pause: 'F6',
  step: 'F10',
  next_node: 'F11',
  recheck: undefined,
  terminate: 'Shift+F5',
} as const;

type Shown = keyof typeof ICONS;

function useStopReason(job: Job | null): string {
  const { conditionText, actualText } = useConditionText();
  const hit = useJob(({ model }) => stoppingHit(model));
  const watchpoints = useJob((state) => state.model.watchpoints);
  if (job === null || job.state !== 'paused') return '';
  const by = (job.stopped_by ?? []).map((id) => watchpoints.find((other) => other.id === id));
  const first = by.find((watchpoint) => watchpoint !== undefined);
  if (job.pause_reason === 'watchpoint' && first !== undefined) {
    const { id, params } = first.condition;
    const more = by.length > 1 ? ` and ${by.length - 1} more` : '';
    const what = hit === null ? `on ${targetText(first)}` : `· ${actualText(hit)}`;
    return `Watchpoint ${first.id}: ${conditionText(id, params)} ${what}${more}`;
  }
  if (job.pause_reason === 'start') return 'Set watchpoints, then continue.';
  return '';
}

// Bad values flood all that comes after their origin: to stop at each of them again
// helps nobody.
function OncePerStep() {
  const watchpoint = useJob(({ model }) => {
    const hit = stoppingHit(model);
    if (hit?.origin !== 'propagated') return null;
    return model.watchpoints.find(({ id, pause }) => id === hit.watchpoint && pause === 'node') ?? null;
  });
  if (watchpoint === null) return null;
  return (
    <Button
      label="Stop once a step"
      hint={`This hit only passes on what came in. Watchpoint ${watchpoint.id} would then stop at the end of a step with hits, not at each of them.`}
      small
      onClick={() => void changeWatchpoint(watchpoint.id, { pause: 'step' })}
    />
  );
}

export function Controls() {
  const job = useJob((state) => state.model.info);
  const connection = useJob((state) => state.connection);
  const pending = useJob((state) => state.pending);
  const [steps, setSteps] = useState('1');
  const [asking, setAsking] = useState(false);
  const reason = useStopReason(job);
  const count = /^[1-9]\d{0,8}$/.test(steps.trim()) ? Number(steps) : null;

  const can = (command: ControlCommand) => {
    const { enabled, reason } = availability(command, job, connection === 'live', pending);
    if (enabled && command === 'step' && count === null) return 'the number of steps must be 1 or more.';
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
      // Otherwise F5 would reload the page in mid-debugging.
      event.preventDefault();
      if (!event.repeat && !asking) run(command);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });

  const button = (command: Shown, tone?: 'primary' | 'danger' | 'quiet') => (
    <Button
      label={COMMAND_NAMES[command]}
      icon={ICONS[command]}
      hint={HINTS[command]}
      shortcut={SHORTCUTS[command]}
      disabledReason={can(command)}
      pending={pending?.command === command}
      onClick={() => run(command)}
      {...(tone === undefined ? {} : { tone })}
    />
  );

  return (
    <div className="controls" role="toolbar" aria-label="Run control">
      {button('continue', 'primary')}
      {button('pause')}
      <span className="controls-line" />
      <span className="controls-step">
        {button('step')}
        <Tooltip text="Number of steps, from 1">
          <input
            className="field mono controls-count"
            aria-label="Number of steps"
            inputMode="numeric"
            value={steps}
            aria-invalid={count === null || undefined}
            onChange={(event) => {
              // Keys that mean something else are not numbers.
              if (/^\d*$/.test(event.target.value)) setSteps(event.target.value);
            }}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return;
              run('step');
              event.currentTarget.blur();
            }}
          />
        </Tooltip>
      </span>
      {button('next_node')}
      <span className="controls-line" />
      {button('recheck')}
      {button('terminate', 'danger')}
      <span className="controls-reason ellipsis" title={reason}>
        {reason}
      </span>
      <OncePerStep />
      <Confirm
        open={asking}
        title="Terminate the job?"
        text={`${job?.name ?? 'The job'} ends at once. Training that was not saved is lost.`}
        action="Terminate job"
        onConfirm={() => void sendCommand('terminate')}
        onClose={() => setAsking(false)}
      />
    </div>
  );
}
