// The norm of a tensor on every rank.

import { useQuery } from '@tanstack/react-query';
import type { Rank } from '../api/types';
import { isRun } from '../base/run_id';
import { recordedStep } from './queries';
import { valueIn } from './rank_differences';
import { rankStatistics, type RankRequest } from './rank_statistics';

// As many as a browser has connections to a server.
const AT_ONCE = 6;
const NONE: ReadonlyMap<number, number> = new Map();

async function norms(request: Omit<RankRequest, 'rank'>, ranks: readonly Rank[], signal: AbortSignal) {
  const found = new Map<number, number>();
  const left = [...ranks];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const measure = isRun(request.job) || next.state === 'paused';
      const { statistics } = await rankStatistics({ ...request, rank: next.rank }, measure, signal);
      const norm = statistics === null ? null : statistics.nan_count > 0 ? NaN : valueIn('l2', statistics);
      if (norm !== null) found.set(next.rank, norm);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

// Of the node's first output. `version` changes when values may have changed. Nothing is asked for while
// `node` is null.
export function useRankNorms(job: string, node: string | null, ranks: readonly Rank[], step: number, version: string) {
  const { data, isFetching } = useQuery({
    queryKey: ['rank norms', job, node, ranks.length, version],
    queryFn: ({ signal }) =>
      norms({ job, node: node ?? '', name: `${node ?? ''}:0`, step: recordedStep(job, step) }, ranks, signal),
    enabled: node !== null,
    retry: false,
  });
  return { norms: data ?? NONE, pending: isFetching };
}
