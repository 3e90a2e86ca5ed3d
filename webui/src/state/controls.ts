// Availability of commands by job state, with reasons. Pure functions.

import type { ControlCommand, Job, JobState } from '../api/types';

export interface Pending {
  command: ControlCommand;
  // Null until the server accepts the command.
  command_id: string | null;
}

export interface Availability {
  enabled: boolean;
  reason: string;
}

export const COMMAND_NAMES: Record<ControlCommand, string> = {
  continue: 'Continue',
  step: 'Step',
  next_node: 'Next node',
  continue_to: 'Continue to here',
  pause: 'Pause',
  terminate: 'Terminate',
  recheck: 'Recheck',
};

const REFUSALS: Partial<Record<JobState, string>> = {
  finished: 'The job has finished.',
  terminated: 'The job was terminated.',
  lost: 'The job is lost: its process stopped responding.',
  connecting: 'The job is still connecting.',
};

function reasonAgainst(command: ControlCommand, state: JobState): string | null {
  const refusal = REFUSALS[state];
  if (refusal !== undefined) return refusal;
  if (command === 'terminate') return null;
  if (state === 'pausing') return 'A pause is pending.';
  if (command === 'pause') return state === 'paused' ? 'The job is already paused.' : null;
  return state === 'running' ? 'The job is running; pause it first.' : null;
}

export function availability(
  command: ControlCommand,
  job: Job | null,
  connected: boolean,
  pending: Pending | null,
): Availability {
  const unavailable = (reason: string) => ({ enabled: false, reason });
  if (job === null) return unavailable('The job has not been loaded yet.');
  if (!connected) return unavailable('Not connected to the server.');
  const unsupported = job.unsupported_commands?.[command];
  if (unsupported !== undefined) return unavailable(`${unsupported}.`);
  const against = reasonAgainst(command, job.state);
  if (against !== null) return unavailable(against);
  if (command === 'recheck' && (job.unchecked_watchpoints ?? []).length === 0) {
    return unavailable('No watchpoint has changed since the job stopped.');
  }
  if (pending !== null && pending.command === command) {
    return unavailable('Sent; waiting for the job.');
  }
  // While another command is pending, only Pause and Terminate are available.
  if (pending !== null && command !== 'terminate' && command !== 'pause') {
    return unavailable(`${COMMAND_NAMES[pending.command]} was sent; waiting for the job.`);
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
