// The ranks that the user has chosen for commands. They apply to one job.

import { create } from 'zustand';
import type { ControlCommand, Job } from '../api/types';
import { rankFor, type Targets } from './controls';
import { selectedRank, useSelectedRank } from './router';

interface CommandRanks {
  job: string | null;
  // Null: the rank that the page shows.
  one: number | null;
  step: number | null;
}

const NONE: CommandRanks = { job: null, one: null, step: null };

const useCommandRanks = create<CommandRanks>(() => NONE);

function targetsOf({ job, one, step }: CommandRanks, id: string | null, shown: number): Targets {
  return job === id ? { one: one ?? shown, step } : { one: shown, step: null };
}

export function targetsFor(job: string | null): Targets {
  return targetsOf(useCommandRanks.getState(), job, selectedRank());
}

export function useTargets(job: string | null): Targets {
  const shown = useSelectedRank();
  return targetsOf(useCommandRanks(), job, shown);
}

// The rank that a command of this job goes to; null for all of them.
export function useRankFor(command: ControlCommand, job: Job | null): number | null {
  return rankFor(command, job, useTargets(job?.id ?? null));
}

// Null: the rank that the page shows for commands of one rank, and all ranks for Step.
export function chooseRank(job: string, command: 'step' | 'next_node', rank: number | null): void {
  const before = useCommandRanks.getState();
  const kept = before.job === job ? before : { ...NONE, job };
  useCommandRanks.setState(command === 'step' ? { ...kept, step: rank } : { ...kept, one: rank });
}
