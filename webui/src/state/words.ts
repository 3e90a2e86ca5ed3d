// Text for a job's state.

import type { Job, JobState, PauseReason } from '../api/types';
import { pauseReasons, stateNames } from '../words/job';

// True if the job ended with an exception or with an exit code other than 0.
export function hasFailed({ state, exception, exit_code }: Job): boolean {
  return state === 'finished' && (Boolean(exception) || (exit_code ?? 0) !== 0);
}

// Of several ranks, the one that an exception is about to end; null if that is not known.
export function rankOfException(job: Job): number | null {
  if (job.world_size < 2 || !job.exception) return null;
  const { node } = job.exception;
  const [first, ...others] = job.ranks.filter((rank) => rank.state === 'paused' && rank.node === (node ?? ''));
  return first !== undefined && others.length === 0 ? first.rank : null;
}

// Whether the job is paused because this op has failed on this rank. It has no output then.
export function hasFailedAt(job: Job | null, node: string, rank: number): boolean {
  if (job === null || !isPausedAtException(job) || job.exception?.node !== node) return false;
  return (rankOfException(job) ?? rank) === rank;
}

// True if an exception is about to end the job, which only ends when it continues.
export function isPausedAtException({ exception, ranks, pause_reason, state }: Job): boolean {
  const alive = state === 'paused' || (state !== 'finished' && ranks.some((rank) => rank.state === 'paused'));
  return Boolean(exception) && alive && (pause_reason === 'error' || state !== 'paused');
}

export function stateWords(state: JobState, reason: PauseReason | null): string {
  const why = state === 'paused' && reason !== null ? pauseReasons[reason] : undefined;
  return why === undefined ? stateNames[state] : `${stateNames[state]} ${why}`;
}
