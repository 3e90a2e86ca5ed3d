// Muting: nodes at which an incident's watchpoints no longer stop the job, and watchpoints that pause nothing
// until a step.

import type { Incident, Watchpoint, WatchpointSpec } from '../api/types';
import * as words from '../words/incidents';
import { describe } from './describe';
import { hideNode, showHidden, useIncidents } from './incidents';
import { useJob } from './job_store';
import { showToast } from './toasts';
import { changeWatchpoint } from './watchpoints';

// What is left out of the selection, with other nodes.
function withoutNodes(
  { exclude }: Watchpoint,
  change: (nodes: readonly string[]) => string[],
): Partial<WatchpointSpec> {
  return { exclude: { ...exclude, nodes: change(exclude.nodes ?? []) } };
}

// Those that have had hits at the node.
function watchpointsAt(node: string): Watchpoint[] {
  const { hits, watchpoints } = useJob.getState().model;
  const ids = new Set(hits.filter((hit) => hit.node === node).map(({ watchpoint }) => watchpoint));
  return watchpoints.filter(({ id }) => ids.has(id));
}

// A watchpoint on this node alone is turned off, since it would have none left.
function changeFor(watchpoint: Watchpoint, node: string): Partial<WatchpointSpec> {
  const { nodes, scopes, patterns, regexes, categories } = watchpoint;
  const only = nodes.length === 1 && nodes[0] === node && [scopes, patterns, regexes, categories].every(({ length }) => length === 0);
  return only ? { enabled: false } : withoutNodes(watchpoint, (excluded) => [...new Set([...excluded, node])]);
}

// Hides the incident, and its watchpoints leave the node out.
export async function muteNode({ origin: { node } }: Incident): Promise<void> {
  hideNode(node);
  for (const watchpoint of watchpointsAt(node)) {
    const problem = await changeWatchpoint(watchpoint.id, changeFor(watchpoint, node));
    if (problem !== null) showToast({ kind: 'error', title: words.onlyHidden(watchpoint.id), detail: describe(problem) });
  }
}

// Shows the hidden incidents, and watchpoints include their nodes again.
export async function unmuteAll(): Promise<void> {
  const { muted } = useIncidents.getState();
  showHidden();
  for (const watchpoint of useJob.getState().model.watchpoints) {
    if (!(watchpoint.exclude.nodes ?? []).some((node) => muted.has(node))) continue;
    await changeWatchpoint(watchpoint.id, withoutNodes(watchpoint, (nodes) => nodes.filter((node) => !muted.has(node))));
  }
}

// Those whose hits make up the incident at its origin.
export function watchpointsOf({ origin: { node, watchpoint } }: Incident): number[] {
  return [...new Set([watchpoint, ...watchpointsAt(node).map(({ id }) => id)])].sort((a, b) => a - b);
}

// Their hits are listed but pause nothing before step `until`; 0 ends that.
export async function muteWatchpoints(ids: readonly number[], until: number): Promise<void> {
  for (const id of ids) {
    const problem = await changeWatchpoint(id, { muted_until_step: until });
    if (problem === null) continue;
    showToast({ kind: 'error', title: words.notMuted(id), detail: describe(problem) });
    return;
  }
}
