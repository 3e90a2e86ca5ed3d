// The run and rank with which the address compares a recorded run, and the result.

import type { Difference, Divergence, Renaming, Run } from '../api/types';
import { runName } from '../base/run_id';
import { useJob } from '../state/job_store';
import { useDivergence, useRuns } from '../state/queries';
import { patchRoute, useRouter, useSelectedRank } from '../state/router';
import { useJobContext } from './job_context';

export interface Compared {
  // The name of this run, and the rank that the page shows.
  name: string;
  rank: number;
  // Runs that this rank can be compared with: others, and this one if it has several ranks.
  choices: readonly Run[];
  // The chosen run; empty if there is none.
  run: string;
  // Its ranks that this rank can be compared with, and the one it is compared with.
  ranks: readonly number[];
  chosen: number | undefined;
  terms: string | null;
  data: Divergence | undefined;
  error: Error | null;
  isFetching: boolean;
}

export function useCompared(): Compared {
  const { id } = useJobContext();
  const rank = useSelectedRank();
  const name = runName(id);
  const version = useJob(({ model }) => `${model.graph_version}`);
  const runs = useRuns().data?.runs ?? [];
  // Run ids have no colon.
  const compare = useRouter(({ route }) => (route.view === 'job' ? route.route.compare : null));
  const terms = useRouter(({ route }) => (route.view === 'job' ? route.route.terms : null));
  const [run = '', named] = compare?.split(':') ?? [];
  const choices = runs.filter((each) => each.id !== name || each.ranks.length > 1);
  const ranks = (runs.find((each) => each.id === run)?.ranks ?? []).map((each) => each.rank).filter((each) => run !== name || each !== rank);
  const wanted = named === undefined ? rank : Number(named);
  const chosen = ranks.includes(wanted) ? wanted : (ranks.find((each) => each === rank) ?? ranks[0]);
  const other = chosen === undefined ? null : `${run}:${chosen}`;
  const { data, error, isFetching } = useDivergence(id, rank, other, terms, version);
  return { name, rank, choices, run, ranks, chosen, terms, data, error, isFetching };
}

// Without a run, there is no comparison. A null rank: that of this side.
export function compareWith(run: string, rank: number | null): void {
  if (run === '') patchRoute({ compare: null, terms: null, beside: false });
  else patchRoute({ compare: rank === null ? run : `${run}:${rank}` });
}

export const differencesOf = ({ first, next }: Divergence): readonly Difference[] => (first === null ? [] : [first, ...next]);

// The name of a node in the other run, where nodes or the scopes around them have other names.
export function nameThere(node: string, renamings: readonly Renaming[]): string {
  const inside = renamings.filter(({ from }) => node === from || node.startsWith(`${from}/`));
  const [best] = inside.toSorted((a, b) => b.from.length - a.from.length);
  return best === undefined ? node : best.to + node.slice(best.from.length);
}

// The name here of a node of the other run.
export const nameHere = (node: string, renamings: readonly Renaming[]): string =>
  nameThere(node, renamings.map(({ from, to, nodes }) => ({ from: to, to: from, nodes })));
