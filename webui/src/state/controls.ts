// Which command fits which state, and why not. Pure.

import type { ControlCommand, Job, JobState } from '../api/types';

export interface Pending {
  command: ControlCommand;
  // Null until the server accepted it.
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

const OVER: Partial<Record<JobState, string>> = {
  finished: 'The job has finished.',
  terminated: 'The job was terminated.',
  lost: 'The job is lost: its process no longer answers.',
  connecting: 'The job is still connecting.',
};

function reasonAgainst(command: ControlCommand, state: JobState): string | null {
  const over = OVER[state];
  if (over !== undefined) return over;
  if (command === 'terminate') return null;
  if (state === 'pausing') return 'A pause is on its way.';
  if (command === 'pause') return state === 'paused' ? 'The job is paused already.' : null;
  return state === 'running' ? 'The job is running; pause it first.' : null;
}

export function availability(
  command: ControlCommand,
  job: Job | null,
  connected: boolean,
  pending: Pending | null,
): Availability {
  const no = (reason: string) => ({ enabled: false, reason });
  if (job === null) return no('The job is not known yet.');
  if (!connected) return no('Not connected to the server.');
  const unsupported = job.unsupported_commands?.[command];
  if (unsupported !== undefined) return no(`${unsupported}.`);
  const against = reasonAgainst(command, job.state);
  if (against !== null) return no(against);
  if (command === 'recheck' && (job.unchecked_watchpoints ?? []).length === 0) {
    return no('No watchpoint has changed since the job stopped.');
  }
  if (pending !== null && pending.command === command) {
    return no('Sent; waiting for the job.');
  }
  // While a stop is being left, only a pause or an end make sense.
  if (pending !== null && command !== 'terminate' && command !== 'pause') {
    return no(`${COMMAND_NAMES[pending.command]} was sent; waiting for the job.`);
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

// The command of a function key; null if it has none.
export function commandOfKey(key: string, shift: boolean, other: boolean): ControlCommand | null {
  if (other) return null;
  if (shift) return key === 'F5' ? 'terminate' : null;
  return KEYS[key] ?? null;
}
