// The statistics of one tensor on several ranks.

import { useQueries } from '@tanstack/react-query';
import { api } from '../api/client';
import { isRun } from '../base/run_id';
import { isPaused } from './job';
import { useJob } from './job_store';
import { recordedStep } from './queries';
import type { RankStatistics } from './rank_differences';

export interface RankRequest {
  job: string;
  node: string;
  name: string;
  rank: number;
  step: string | null;
}

// What the server knows without asking the job. It may be of an earlier step.
async function knownStatistics({ job, node, name, rank, step }: RankRequest, signal: AbortSignal): Promise<RankStatistics> {
  const { tensors } = await api.tensors(job, node, rank, step, signal);
  const tensor = tensors.find((each) => each.role === 'output' && each.name === name);
  return { rank, statistics: tensor?.statistics ?? null, step: tensor?.statistics_step ?? null };
}

// A rank that is asked to measure computes what is not known.
export async function rankStatistics(request: RankRequest, measure: boolean, signal: AbortSignal): Promise<RankStatistics> {
  const { job, name, rank, step } = request;
  if (measure) {
    try {
      const answer = await api.statistics(job, { name, rank, step }, signal);
      return { rank, statistics: answer.statistics, step: answer.step };
    } catch (error) {
      if (signal.aborted) throw error;
    }
  }
  return knownStatistics(request, signal);
}

function combine(answers: ReadonlyArray<{ data: RankStatistics | undefined; isPending: boolean }>) {
  return {
    ranks: answers.flatMap(({ data }) => (data === undefined ? [] : [data])),
    pending: answers.some(({ isPending }) => isPending),
  };
}

// Paused ranks are asked to measure what is not known. `node` is the one whose output the tensor is.
export function useRankStatistics(job: string, tensor: { node: string; name: string }, ranks: readonly number[], version: string) {
  const info = useJob(({ model }) => model.info);
  const step = recordedStep(job, info?.step ?? 0);
  const { node, name } = tensor;
  return useQueries({
    queries: ranks.map((rank) => {
      const measure = isRun(job) || isPaused(info, rank);
      return {
        queryKey: ['rank statistics', job, name, rank, step, measure, version],
        queryFn: ({ signal }: { signal: AbortSignal }) => rankStatistics({ job, node, name, rank, step }, measure, signal),
        retry: false,
      };
    }),
    combine,
  });
}
