// All statistics of the current step, for the colours of the graph.

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api } from '../api/client';
import { readStepStatistics } from '../index/step_statistics';
import { isRun } from '../base/run_id';
import { useJob } from './job_store';
import { recordedStep } from './queries';

// A recorded run has those of every step; a job those of the step in which it is paused.
export function useStepStatistics(job: string, rank: number, version: string, enabled: boolean) {
  const step = useJob(({ model }) => model.info?.step ?? 0);
  const paused = useJob(({ model }) => model.info?.state === 'paused');
  return useQuery({
    queryKey: ['step statistics', job, rank, step, version],
    queryFn: async ({ signal }) => readStepStatistics(await api.stepStatistics(job, rank, recordedStep(job, step), signal)),
    enabled: enabled && (paused || isRun(job)),
    structuralSharing: false,
    placeholderData: keepPreviousData,
  });
}
