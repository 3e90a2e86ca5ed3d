// The graph of a job that the page shows.

import { useEffect } from 'react';
import type { GraphSummary } from '../api/types';
import { useGraphs, useNode } from './queries';
import { ofNoTensor, patchRoute, useRouter } from './router';

const MAIN = 'main';

// The graph shown for an address without one. The server uses the same rule.
export function firstGraph(graphs: readonly GraphSummary[]): GraphSummary | undefined {
  return graphs.find(({ id }) => id === MAIN) ?? graphs[0];
}

// Undefined if the graph is unknown or not loaded yet.
export function useShownGraph(job: string): GraphSummary | undefined {
  const graphs = useGraphs(job);
  const named = useRouter(({ route }) => (route.view === 'job' ? route.route.graph : null));
  return named === null ? firstGraph(graphs) : graphs.find(({ id }) => id === named);
}

// Clears the selection, which belongs to the previous graph.
export function showGraph(graph: string): void {
  patchRoute({ graph, node: null, ...ofNoTensor(), against: null, around: null, open: null }, 'push');
}

// Shows the graph of the selected node, which may have been selected by a search, a hit or a stop.
export function useGraphOfNode(job: string): void {
  const several = useGraphs(job).length > 1;
  const node = useRouter(({ route }) => (route.view === 'job' ? route.route.node : null));
  const detail = useNode(job, several ? node : null).data;
  const home = detail !== undefined && detail.name === node ? detail.graph : null;
  const shown = useShownGraph(job)?.id;
  useEffect(() => {
    if (several && home !== null && home !== shown) patchRoute({ graph: home, open: null });
  }, [several, home, shown]);
}
