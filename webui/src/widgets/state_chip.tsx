// A job's state as a chip: word, colour and shape.

import { Check, CircleSlash, CirclePause, CirclePlay, Unplug, type LucideIcon } from 'lucide-react';
import type { JobState, PauseReason } from '../api/types';
import { Spinner } from './spinner';
import './state_chip.css';

const ICONS: Partial<Record<JobState, LucideIcon>> = {
  paused: CirclePause,
  running: CirclePlay,
  finished: Check,
  terminated: CircleSlash,
  lost: Unplug,
};

const WORDS: Record<JobState, string> = {
  connecting: 'Connecting',
  paused: 'Paused',
  running: 'Running',
  pausing: 'Pausing',
  finished: 'Finished',
  terminated: 'Terminated',
  lost: 'Lost',
};

const REASONS: Partial<Record<PauseReason, string>> = {
  start: 'before the first step',
  step: 'after a step',
  node: 'at a node',
  watchpoint: 'by a watchpoint',
  user: 'on request',
  error: 'by an error',
};

export function stateWords(state: JobState, reason: PauseReason | null): string {
  const why = state === 'paused' && reason !== null ? REASONS[reason] : undefined;
  return why === undefined ? WORDS[state] : `${WORDS[state]} ${why}`;
}

interface Props {
  state: JobState;
  reason?: PauseReason | null;
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
