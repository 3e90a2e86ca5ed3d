// Muting: nodes at which an incident's watchpoints no longer stop the job, and watchpoints that stay off
// until a step.

import { useEffect } from 'react';
import { create } from 'zustand';
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

interface MutedWatchpoint {
  job: string;
  watchpoint: number;
  // The step at which it is turned on again.
  until: number;
}

const KEY = 'graphdbg.muted';

function readMuted(): MutedWatchpoint[] {
  try {
    return (JSON.parse(sessionStorage.getItem(KEY) ?? '[]') ?? []) as MutedWatchpoint[];
  } catch {
    // Storage is blocked or unreadable.
    return [];
  }
}

export const useMuted = create<{ list: readonly MutedWatchpoint[] }>(() => ({ list: readMuted() }));

function setMuted(list: readonly MutedWatchpoint[]): void {
  useMuted.setState({ list });
  try {
    sessionStorage.setItem(KEY, JSON.stringify(list));
  } catch {
    // Storage is blocked: they last until the page is reloaded.
  }
}

export async function muteWatchpoint(watchpoint: number, until: number): Promise<void> {
  const job = useJob.getState().id ?? '';
  const others = useMuted.getState().list.filter((each) => each.job !== job || each.watchpoint !== watchpoint);
  const problem = await changeWatchpoint(watchpoint, { enabled: false });
  if (problem !== null) {
    showToast({ kind: 'error', title: words.notMuted(watchpoint), detail: describe(problem) });
    return;
  }
  setMuted([...others, { job, watchpoint, until }]);
  showToast({ kind: 'info', title: words.mutedUntil(watchpoint, until), detail: words.mutedByPage });
}

// Turns watchpoints on again whose step has come. For the view of a job.
export function useMutedWatchpoints(): void {
  const job = useJob((state) => state.id);
  const step = useJob(({ model }) => model.info?.step ?? 0);
  useEffect(() => {
    const { list } = useMuted.getState();
    const due = list.filter((each) => each.job === job && each.until <= step);
    if (due.length === 0) return;
    setMuted(list.filter((each) => !due.includes(each)));
    for (const { watchpoint } of due) void changeWatchpoint(watchpoint, { enabled: true });
  }, [job, step]);
}
