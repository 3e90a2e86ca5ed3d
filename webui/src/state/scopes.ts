// Children of scopes as far as they were looked at, and which scopes are open.

import { create } from 'zustand';
import { api } from '../api/client';
import { describe } from '../api/problem';
import type { ScopeView } from '../api/types';
import { ancestorsOf } from '../base/names';
import { beginMeasure } from '../base/timing';
import { autoOpen } from '../graph/auto_open';
import { useJob } from './job_store';
import { patchRoute, useRouter } from './router';

interface ScopeState {
  job: string | null;
  views: ReadonlyMap<string, ScopeView>;
  errors: ReadonlyMap<string, string>;
  // What the page opened by itself, while the address names no scopes.
  auto: readonly string[];
}

export const useScopes = create<ScopeState>(() => ({
  job: null,
  views: new Map(),
  errors: new Map(),
  auto: [],
}));

const loading = new Set<string>();
// The step that the job was at when the views were asked for.
let views_step = -1;
// The first view's choice has been made in full, on a graph that a whole step built.
let chosen = false;

function jobStep(): number {
  return useJob.getState().model.info?.step ?? 0;
}

export function startScopes(job: string): void {
  loading.clear();
  chosen = false;
  views_step = -1;
  useScopes.setState({ job, views: new Map(), errors: new Map(), auto: [] });
}

// The scopes that are open: those of the address, else the page's own choice;
// always those around the selected node.
export function openScopes(
  fromAddress: readonly string[] | null,
  auto: readonly string[],
  node: string | null,
): ReadonlySet<string> {
  const open = new Set(fromAddress ?? auto);
  if (fromAddress === null && node !== null) {
    for (const scope of ancestorsOf(node)) open.add(scope);
  }
  return open;
}

export function currentOpen(): ReadonlySet<string> {
  const { route } = useRouter.getState();
  if (route.view !== 'job') return new Set();
  return openScopes(route.route.open, useScopes.getState().auto, route.route.node);
}

async function fetchScope(job: string, name: string): Promise<void> {
  loading.add(name);
  if (name === '') views_step = jobStep();
  try {
    const view = await api.scope(job, name);
    if (useScopes.getState().job !== job) return;
    useScopes.setState(({ views, errors }) => {
      const left = new Map(errors);
      left.delete(name);
      return { views: new Map(views).set(name, view), errors: left };
    });
  } catch (error) {
    if (useScopes.getState().job !== job) return;
    useScopes.setState(({ errors }) => ({ errors: new Map(errors).set(name, describe(error)) }));
  } finally {
    loading.delete(name);
  }
}

// Fetches what is open and not known yet, and what the first view wants to open.
// The first step builds the graph; what later steps add does not change the choice.
export function ensureScopes(open: ReadonlySet<string>, choose: boolean): void {
  const { job, views, errors } = useScopes.getState();
  if (job === null) return;
  const missing = new Set(['', ...open].filter((name) => !views.has(name)));
  if (choose && !chosen) {
    const choice = autoOpen(views);
    for (const name of choice.wanted) missing.add(name);
    if (choice.open.join() !== useScopes.getState().auto.join()) {
      useScopes.setState({ auto: choice.open });
    }
    chosen = choice.wanted.length === 0 && choice.open.length > 0 && views_step > 1;
  }
  for (const name of missing) {
    if (views.has(name) || loading.has(name) || errors.has(name)) continue;
    void fetchScope(job, name);
  }
}

export function retryScope(name: string): void {
  const { job } = useScopes.getState();
  if (job !== null && !loading.has(name)) void fetchScope(job, name);
}

// Asks anew for everything that is shown, and changes it all at once. Closed
// scopes are dropped: they are asked for when they are opened.
export async function refreshScopes(): Promise<void> {
  const { job } = useScopes.getState();
  if (job === null) return;
  const names = ['', ...currentOpen()];
  const step = jobStep();
  const answers = await Promise.allSettled(names.map((name) => api.scope(job, name)));
  if (useScopes.getState().job !== job) return;
  if (!answers.some((answer) => answer.status === 'fulfilled')) return;
  // A scope that was opened meanwhile has come by itself.
  const shown = new Set(['', ...currentOpen()]);
  const views = new Map([...useScopes.getState().views].filter(([name]) => shown.has(name)));
  answers.forEach((answer, i) => {
    if (answer.status === 'fulfilled') views.set(names[i] as string, answer.value);
  });
  views_step = step;
  useScopes.setState({ views, errors: new Map() });
}

function setOpen(open: Iterable<string>): void {
  patchRoute({ open: [...new Set(open)] });
}

export function toggleScope(name: string): void {
  beginMeasure('graphdbg:expand');
  const open = new Set(currentOpen());
  if (open.has(name)) {
    // What is inside stays open for the next time, as in other trees.
    open.delete(name);
  } else {
    open.add(name);
  }
  setOpen(open);
}

export function closeAll(): void {
  beginMeasure('graphdbg:expand');
  setOpen([]);
}


// Opens what hides a node and selects it.
export function revealNode(name: string, how: 'push' | 'replace' = 'push'): void {
  const { route } = useRouter.getState();
  if (route.view !== 'job') return;
  const hidden = ancestorsOf(name).filter((scope) => !currentOpen().has(scope));
  const open = hidden.length === 0 ? route.route.open : [...currentOpen(), ...hidden];
  const same = route.route.node === name;
  patchRoute(
    { node: name, open, ...(same ? {} : { slot: null, slice: null, step: null }) },
    same ? 'replace' : how,
  );
}

export function selectNode(name: string | null): void {
  const { route } = useRouter.getState();
  if (route.view !== 'job' || route.route.node === name) return;
  // Naming the open scopes keeps those that were open around the old selection.
  const open = route.route.open ?? (route.route.node === null ? null : [...currentOpen()]);
  patchRoute({ node: name, open, slot: null, slice: null, step: null }, 'push');
}
