// A job's state as a chip with text, colour and icon.

import { Check, CircleSlash, CircleX, CirclePause, CirclePlay, Unplug, type LucideIcon } from 'lucide-react';
import type { Job, JobState, PauseReason } from '../api/types';
import { exceptionLine } from '../base/exception';
import { hasFailed, stateWords } from '../state/words';
import { exitCode, failed } from '../words/job';
import { Spinner } from './spinner';
import './state_chip.css';

const ICONS: Partial<Record<JobState, LucideIcon>> = {
  paused: CirclePause,
  running: CirclePlay,
  finished: Check,
  terminated: CircleSlash,
  lost: Unplug,
};

interface Props {
  state: JobState;
  reason?: PauseReason | null;
}

// The state of a job. A failed job has the reason as tooltip.
export function JobChip({ job }: { job: Job }) {
  if (!hasFailed(job)) return <StateChip state={job.state} reason={job.pause_reason} />;
  const why = job.exception ? exceptionLine(job.exception) : exitCode(job.exit_code);
  return (
    <span className="state-chip state-stopped" title={why}>
      <CircleX aria-hidden size={13} strokeWidth={2.2} />
      {failed}
    </span>
  );
}

export function StateChip({ state, reason = null }: Props) {
  const Icon = ICONS[state];
  const stopped = state === 'paused' && (reason === 'watchpoint' || reason === 'error');
  return (
    <span className={`state-chip state-${state}${stopped ? ' state-stopped' : ''}`}>
      {Icon === undefined ? <Spinner /> : <Icon aria-hidden size={13} strokeWidth={2.2} />}
      {stateWords(state, reason)}
    </span>
  );
}
