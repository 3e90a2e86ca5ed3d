// A job's state in words.

import type { Job, JobState, PauseReason } from '../api/types';

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

// It ended by an exception, or by an exit code that says so.
export function hasFailed({ state, exception, exit_code }: Job): boolean {
  return state === 'finished' && (Boolean(exception) || (exit_code ?? 0) !== 0);
}

export function stateWords(state: JobState, reason: PauseReason | null): string {
  const why = state === 'paused' && reason !== null ? REASONS[reason] : undefined;
  return why === undefined ? WORDS[state] : `${WORDS[state]} ${why}`;
}
