// Texts of run control: commands, and why a command is not available.

import type { ControlCommand, JobState } from '../api/types';

export const runControl = 'Run control';
export const commandNames: Record<ControlCommand, string> = {
  continue: 'Continue',
  step: 'Step',
  next_node: 'Next node',
  continue_to: 'Continue to here',
  pause: 'Pause',
  terminate: 'Terminate',
  recheck: 'Recheck',
};
// Where a command has several keys.
export const continueKeys = 'F8 or F5';
export const commandHints = {
  continue: 'Run until a watchpoint pauses the job',
  pause: 'Pause at the next op',
  step: 'Run this many steps, then pause',
  next_node: 'Step over op',
  recheck: 'Re-test changed watchpoints on the current values',
  terminate: 'End the job',
};
export const endHint = 'Let the exception end the program, as Stop job does';
export const onRank = (what: string, rank: number) => `${what}, rank ${rank}`;
export const rankCaption = (rank: number) => `· rank ${rank}`;
export const allRanksCaption = '· all ranks';
export const rankOf = (command: string) => `Rank of ${command}`;
export const chooseRankHint = (command: string) => `Choose the rank that ${command} moves`;
export const rankShown = (rank: number) => `The rank shown (rank ${rank})`;
export const allRanks = 'All ranks, to the end of the same step';
export const rankItem = (rank: number, where: string) => `Rank ${rank} · ${where}`;
export const pausedAtNode = (node: string) => `paused at ${node}`;
const named = (ranks: readonly number[]) => {
  if (ranks.length === 1) return `rank ${ranks[0]}`;
  return ranks.length <= 4 ? `ranks ${ranks.join(', ')}` : `${ranks.length} ranks`;
};
export const ranksApart = (paused: readonly number[], running: readonly number[]) =>
  `Paused: ${named(paused)}. Running, up to the next collective op: ${named(running)}.`;
export const onlyRank = (hint: string, rank: number) =>
  `${hint}, on rank ${rank} only. The others stay where they are; at a collective op it waits for them.`;
export const stepCount = 'Number of steps';
export const stepCountHint = 'Number of steps (1 or more)';
export const stepCountWrong = 'The number of steps must be 1 or more.';
export const setWatchpointsFirst = 'Set watchpoints, then continue.';
export const stoppedBy = (id: number, condition: string, what: string) => `Watchpoint ${id}: ${condition} ${what}`;
export const onTarget = (target: string) => `on ${target}`;
export const andMore = (count: number) => (count > 0 ? ` and ${count} more` : '');
export const stopOncePerStep = 'Stop once per step';
export const stopOncePerStepHint = (id: number) =>
  `This hit only passes on a bad input. Watchpoint ${id} will pause once at the end of each step with hits, not at each hit.`;
export const confirmTerminate = (name: string) => `Terminate ${name}?`;
export const terminateWarning = 'The job ends immediately. Training progress that was not saved is lost.';
export const theJob = 'the job';
export const terminateJob = 'Terminate job';

// Why a command is not available.
export const refusals: Partial<Record<JobState, string>> = {
  finished: 'The job has finished.',
  terminated: 'The job was terminated.',
  lost: 'The job is lost: its process stopped responding.',
  connecting: 'The job is still connecting.',
};
export const pausePending = 'A pause is pending.';
export const endsByException = 'An exception ends the job: it can only continue to its end.';
export const alreadyPaused = 'The job is already paused.';
export const stillRunning = 'The job is running; pause it first.';
export const notLoaded = 'The job has not been loaded yet.';
export const nothingToRecheck = 'No watchpoint has changed since the job stopped.';
export const waitingForJob = 'Sent; waiting for the job.';
export const otherCommandSent = (command: ControlCommand) => `${commandNames[command]} was sent; waiting for the job.`;
export const commandRefused = 'Command refused';
export const refused = (command: ControlCommand) => `${commandNames[command]} was refused`;
