// Which of a job's graphs the page shows.

import { useEffect } from 'react';
import type { GraphSummary } from '../api/types';
import { useGraphs, useNode } from './queries';
import { patchRoute, useRouter } from './router';

const MAIN = 'main';

// The one that an address without a graph shows: as the server has it.
export function firstGraph(graphs: readonly GraphSummary[]): GraphSummary | undefined {
  return graphs.find(({ id }) => id === MAIN) ?? graphs[0];
}

// Undefined: not known (yet).
export function useShownGraph(job: string): GraphSummary | undefined {
  const graphs = useGraphs(job);
  const named = useRouter(({ route }) => (route.view === 'job' ? route.route.graph : null));
  return named === null ? firstGraph(graphs) : graphs.find(({ id }) => id === named);
}

// What was looked at lies in the graph that is left.
export function showGraph(graph: string): void {
  patchRoute({ graph, node: null, slot: null, slice: null, step: null, against: null, around: null, open: null }, 'push');
}

// The selected node's graph is shown, wherever its name came from: a search, a hit, a stop.
export function useGraphOfNode(job: string): void {
  const several = useGraphs(job).length > 1;
  const node = useRouter(({ route }) => (route.view === 'job' ? route.route.node : null));
  const detail = useNode(job, several ? node : null).data;
  const lies = detail !== undefined && detail.name === node ? detail.graph : null;
  const shown = useShownGraph(job)?.id;
  useEffect(() => {
    if (several && lies !== null && lies !== shown) patchRoute({ graph: lies, open: null });
  }, [several, lies, shown]);
}
