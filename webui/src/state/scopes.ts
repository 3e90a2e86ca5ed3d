// The graph as far as the page knows it, and which of its scopes are open. The address names
// the open scopes and the selected node.

import { create } from 'zustand';
import type { ScopeView } from '../api/types';
import { ancestorsOf } from '../base/names';
import { beginMeasure } from '../base/timing';
import type { LayoutAnswer } from '../graph/layout_types';
import { everyScope } from '../graph/scene';
import type { GraphIndex } from '../index/graph_index';
import type { LiftedEdges } from '../index/lifted_edges';
import { pathTo } from '../index/path';
import { ofNoTensor, patchRoute, useRouter } from './router';
import { useUi } from './ui';

interface ScopeState {
  job: string | null;
  // The graph named in the address.
  graph: string | null;
  // Null while it is loading, and if the server provides none.
  index: GraphIndex | null;
  lifted: LiftedEdges | null;
  // With an index, the views of all scopes, each built on first use; without one, those of
  // the scopes fetched so far.
  views: ReadonlyMap<string, ScopeView>;
  // The layout with all scopes open, after the worker has prepared it.
  allOpen: LayoutAnswer | null;
  errors: ReadonlyMap<string, string>;
  // Scopes that the page opens itself while the address names none.
  auto: readonly string[];
}

export const NO_GRAPH: Omit<ScopeState, 'job' | 'graph'> = {
  index: null,
  lifted: null,
  views: new Map(),
  allOpen: null,
  errors: new Map(),
  auto: [],
};

// Filled by graph_loader.ts.
export const useScopes = create<ScopeState>(() => ({ job: null, graph: null, ...NO_GRAPH }));

// In the address: all scopes are open except those listed with a minus sign.
const EVERYTHING = '**';

// The open scopes: those named by the address, else those chosen by the page and those around
// the selected node.
export function openScopes(
  fromAddress: readonly string[] | null,
  auto: readonly string[],
  node: string | null,
): ReadonlySet<string> {
  const { views } = useScopes.getState();
  const all = fromAddress?.includes(EVERYTHING) ?? false;
  const open = all ? everyScope(views) : new Set<string>();
  for (const name of fromAddress ?? auto) {
    if (name.startsWith('-')) open.delete(name.slice(1));
    else if (name !== EVERYTHING) open.add(name);
  }
  if (fromAddress === null && node !== null) {
    for (const scope of pathOf(node)) open.add(scope);
  }
  return open;
}

// Scopes that must be open for a node to be visible, outermost first.
export function pathOf(name: string): readonly string[] {
  const { index } = useScopes.getState();
  return index === null ? ancestorsOf(name) : pathTo(index, name);
}

export function currentOpen(): ReadonlySet<string> {
  const { route } = useRouter.getState();
  if (route.view !== 'job') return new Set();
  return openScopes(route.route.open, useScopes.getState().auto, route.route.node);
}

function setOpen(open: Iterable<string>): void {
  patchRoute({ open: [...new Set(open)] });
}

export function toggleScope(name: string): void {
  beginMeasure('graphdbg:expand');
  const { route } = useRouter.getState();
  const listed = route.view === 'job' ? route.route.open : null;
  const isOpen = currentOpen().has(name);
  if (listed?.includes(EVERYTHING)) {
    const others = listed.filter((entry) => entry !== `-${name}` && entry !== name);
    patchRoute({ open: isOpen ? [...others, `-${name}`] : others });
    return;
  }
  const open = new Set(currentOpen());
  // Scopes inside it keep their state for the next time, as in other trees.
  if (isOpen) open.delete(name);
  else open.add(name);
  setOpen(open);
}

export function closeAll(): void {
  beginMeasure('graphdbg:expand');
  setOpen([]);
}

export function openAll(): void {
  beginMeasure('graphdbg:expand');
  setOpen([EVERYTHING]);
}

// Shows the neighbourhood of the selected node up to `depth` tensors away, or, with null, the
// whole graph. Stops follow this choice.
export function showAround(depth: number | null): void {
  useUi.setState({ whole_graph: depth === null });
  patchRoute({ around: depth }, depth === null ? 'replace' : 'push');
}

// Selects a node and opens the scopes that contain it.
export function revealNode(name: string, how: 'push' | 'replace' = 'push'): void {
  const { route } = useRouter.getState();
  if (route.view !== 'job') return;
  const shown = currentOpen();
  const hidden = pathOf(name).filter((scope) => !shown.has(scope));
  if (hidden.length > 0) beginMeasure('graphdbg:expand');
  const listed = route.route.open?.filter((entry) => !hidden.some((scope) => entry === `-${scope}`));
  const whole = listed?.includes(EVERYTHING) ? listed : [...new Set([...shown, ...hidden])];
  const open = hidden.length === 0 ? route.route.open : whole;
  const same = route.route.node === name;
  patchRoute(
    { node: name, open, ...(same ? {} : ofNoTensor()) },
    same ? 'replace' : how,
  );
}

export function selectNode(name: string | null): void {
  const { route } = useRouter.getState();
  if (route.view !== 'job' || route.route.node === name) return;
  // Scopes open only because of the previous selection stay open if they are named.
  const open = route.route.open ?? (route.route.node === null ? null : [...currentOpen()]);
  patchRoute({ node: name, open, ...ofNoTensor() }, 'push');
}
