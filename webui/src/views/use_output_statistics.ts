// The statistics that the server has of the first outputs of several nodes.

import { useQueries } from '@tanstack/react-query';
import { api } from '../api/client';
import type { Statistics } from '../api/types';
import { useJob } from '../state/job_store';
import { recordedStep } from '../state/queries';
import { useJobContext } from './job_context';
import { useStopVersion } from './use_stop_version';

export interface OutputStatistics {
  statistics: Statistics;
  // Their step if it is not the present one, else null.
  old: number | null;
}

export function useOutputStatistics(nodes: readonly string[]): ReadonlyMap<string, OutputStatistics> {
  const { id, route } = useJobContext();
  const rank = route?.rank ?? 0;
  const now = useJob((state) => state.model.info?.step ?? 0);
  const version = useStopVersion();
  const step = recordedStep(id, now);
  const answers = useQueries({
    queries: [...new Set(nodes)].map((node) => ({
      queryKey: ['outputs', id, node, rank, version, step],
      queryFn: ({ signal }: { signal: AbortSignal }) => api.tensors(id, node, rank, step, signal),
    })),
  });
  const found = new Map<string, OutputStatistics>();
  for (const { data } of answers) {
    const output = data?.tensors.find(({ role, index }) => role === 'output' && index === 0);
    if (data === undefined || !output?.statistics) continue;
    found.set(data.node, { statistics: output.statistics, old: output.statistics_step === now ? null : output.statistics_step });
  }
  return found;
}
