// Trainings of the server's user on its machine, which an administrator attaches to and detaches from.

import { queryOptions, useQuery } from '@tanstack/react-query';
import { api } from '../api/client';
import type { Job, Rank, Training } from '../api/types';
import * as words from '../words/trainings';
import { describe } from './describe';
import { jobRoute } from './route';
import { navigate } from './router';
import { showToast } from './toasts';

// Each listing is a program that the server starts, so that it is not repeated often.
const REFRESH_MS = 30_000;

export const trainingsOptions = queryOptions({
  queryKey: ['trainings'],
  queryFn: ({ signal }) => api.trainings(signal),
  refetchInterval: REFRESH_MS,
  refetchOnWindowFocus: true,
  staleTime: 0,
});

export function useTrainings() {
  return useQuery(trainingsOptions);
}

// Whether the agent of a rank has connected from the server's machine.
export function isHere({ peer }: Pick<Rank, 'peer'>): boolean {
  return /^(?:127\.|(?:\[|%5B)?(?:::1(?:\]|%5D)|::ffff:127\.)|unix\b)/i.test(peer);
}

// The training that a job was, if its process still runs and nothing debugs it.
export function leftTraining(job: Job, trainings: readonly Training[], host: string): Training | null {
  const pids = new Set(job.ranks.filter((rank) => rank.host === host).map(({ pid }) => pid));
  return trainings.find(({ pid, job }) => job === null && pids.has(pid)) ?? null;
}

// Attaches to all ranks of a training, and shows its job.
export async function attachTo({ pid, script }: Training): Promise<void> {
  try {
    const { job } = await api.attach(pid);
    navigate({ view: 'job', route: jobRoute(job) });
  } catch (error) {
    showToast({ kind: 'error', title: words.cannotAttach(script), detail: describe(error) });
  }
}

// Detaches from processes, which are the ranks of one training.
export async function detachFrom(name: string, pids: readonly number[]): Promise<void> {
  const answers = await Promise.allSettled(pids.map((pid) => api.detach(pid)));
  const failed = answers.find((answer) => answer.status === 'rejected');
  if (failed !== undefined) {
    showToast({ kind: 'error', title: words.cannotDetach(name), detail: describe(failed.reason) });
    return;
  }
  const [first] = answers;
  const detail = first?.status === 'fulfilled' ? first.value.message : '';
  showToast({ kind: 'info', title: words.detached(name), detail });
}
