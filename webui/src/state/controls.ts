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

export function availability(
  command: ControlCommand,
  job: Job | null,
  connected: boolean,
  pending: Pending | null,
  session: Session | null = null,
): Availability {
  const unavailable = (reason: string) => ({ enabled: false, reason });
  if (job === null) return unavailable(words.notLoaded);
  if (!connected) return unavailable(notConnected);
  const forbidden = reasonAgainst(command === 'terminate' ? 'terminate' : 'control', session, job);
  if (forbidden !== '') return unavailable(forbidden);
  const unsupported = job.unsupported_commands?.[command];
  if (unsupported !== undefined) return unavailable(`${unsupported}.`);
  const against = stateAgainst(command, job.state);
  if (against !== null) return unavailable(against);
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
