// Availability of commands by job state, with reasons. Pure functions.

import type { ControlCommand, Job, JobState, Session } from '../api/types';
import * as words from '../words/control';
import { notConnected } from '../words/job';
import { reasonAgainst } from './permissions';

export interface Pending {
  command: ControlCommand;
  // Null until the server accepts the command.
  command_id: string | null;
}

export interface Availability {
  enabled: boolean;
  reason: string;
}

function stateAgainst(command: ControlCommand, state: JobState): string | null {
  const refusal = words.refusals[state];
  if (refusal !== undefined) return refusal;
  if (command === 'terminate') return null;
  if (state === 'pausing') return words.pausePending;
  if (command === 'pause') return state === 'paused' ? words.alreadyPaused : null;
  return state === 'running' ? words.stillRunning : null;
}

// Ranks wait for each other in collectives, so these commands go to one of several ranks.
const FOR_ONE_RANK: ReadonlySet<ControlCommand> = new Set(['next_node', 'continue_to']);

// Which of several ranks commands go to.
export interface Targets {
  // That of commands for one rank.
  one: number;
  // That of Step; null for all ranks, which end the step together.
  step: number | null;
}

export const FIRST_RANK: Targets = { one: 0, step: null };

// Commands that run the job to another stop.
const ONWARD: ReadonlySet<ControlCommand> = new Set(['step', 'next_node', 'continue_to']);

// Returns the rank that the command is sent to; null for all ranks.
export function rankFor(command: ControlCommand, job: Job | null, targets: Targets): number | null {
  if (job === null || job.ranks.length < 2) return null;
  if (command === 'step') return targets.step;
  return FOR_ONE_RANK.has(command) ? targets.one : null;
}

export function availability(
  command: ControlCommand,
  job: Job | null,
  connected: boolean,
  pending: Pending | null,
  session: Session | null = null,
  targets = FIRST_RANK,
): Availability {
  const unavailable = (reason: string) => ({ enabled: false, reason });
  if (job === null) return unavailable(words.notLoaded);
  if (!connected) return unavailable(notConnected);
  const forbidden = reasonAgainst(command === 'terminate' ? 'terminate' : 'control', session, job);
  if (forbidden !== '') return unavailable(forbidden);
  const rank = rankFor(command, job, targets);
  // Only all ranks together do not support these.
  const unsupported = rank === null ? job.unsupported_commands?.[command] : undefined;
  if (unsupported !== undefined) return unavailable(`${unsupported}.`);
  const state = stateFor(command, job, rank);
  const against = stateAgainst(command, state);
  if (against !== null) return unavailable(against);
  if (job.pause_reason === 'error' && ONWARD.has(command)) return unavailable(words.endsByException);
  if (command === 'recheck' && (job.unchecked_watchpoints ?? []).length === 0) {
    return unavailable(words.nothingToRecheck);
  }
  if (pending !== null && pending.command === command) {
    return unavailable(words.waitingForJob);
  }
  // While another command is pending, only Pause and Terminate are available.
  if (pending !== null && command !== 'terminate' && command !== 'pause') {
    return unavailable(words.otherCommandSent(pending.command));
  }
  return { enabled: true, reason: '' };
}

// The state that decides about a command. Continue moves the ranks that have stopped, while others run.
function stateFor(command: ControlCommand, job: Job, rank: number | null): JobState {
  const own = job.ranks.find((other) => other.rank === rank);
  if (own !== undefined) return own.state;
  return command === 'continue' && ranksApart(job) !== null ? 'paused' : job.state;
}

// The ranks of a running job that have stopped, and those that run; null if they move together.
export function ranksApart({ state, ranks }: Job): { paused: number[]; running: number[] } | null {
  const inState = (wanted: JobState) => ranks.flatMap((each) => (each.state === wanted ? [each.rank] : []));
  const [paused, running] = [inState('paused'), inState('running')];
  return state === 'running' && paused.length > 0 && running.length > 0 ? { paused, running } : null;
}

const KEYS: Record<string, ControlCommand> = {
  F5: 'continue',
  F8: 'continue',
  F6: 'pause',
  F10: 'step',
  F11: 'next_node',
};

// Returns the command of a function key, or null.
export function commandOfKey(key: string, shift: boolean, other: boolean): ControlCommand | null {
  if (other) return null;
  if (shift) return key === 'F5' ? 'terminate' : null;
  return KEYS[key] ?? null;
}
