// A job's state as a chip: word, colour and shape.

import { Check, CircleSlash, CirclePause, CirclePlay, Unplug, type LucideIcon } from 'lucide-react';
import type { JobState, PauseReason } from '../api/types';
import { stateWords } from '../state/words';
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
