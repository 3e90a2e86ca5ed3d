// The graph as far as it is known, and which scopes are open. Mostly the whole graph
// is known, by its index; without one, the children of scopes that were looked at.

import { create } from 'zustand';
import { api } from '../api/client';
import { describe } from '../api/problem';
import { readToken } from '../api/token';
import type { ScopeView } from '../api/types';
import { ancestorsOf } from '../base/names';
import { beginMeasure, firstGraph } from '../base/timing';
import { autoOpen, type AutoOpen } from '../graph/auto_open';
import type { LayoutAnswer } from '../graph/layout_types';
import { everyScope, layoutOf } from '../graph/scene';
import { Watched } from '../index/coverage';
import { GraphIndex } from '../index/graph_index';
import { IndexViews } from '../index/index_views';
import type { LiftedEdges } from '../index/lifted_edges';
import { pathTo } from '../index/path';
import { prepareViews } from '../index/prepare';
import { askWorker, onWorker, takeEarly } from '../worker/client';
import type { GraphKey } from '../worker/messages';
import { useJob } from './job_store';
import { prepareNames } from './name_search';
import { patchRoute, useRouter } from './router';
import { watchSelections } from './watch_selections';

interface ScopeState {
  job: string | null;
  // As the address names it.
  graph: string | null;
  // Null: not there (yet).
  index: GraphIndex | null;
  lifted: LiftedEdges | null;
  // With an index all of them, each made when it is asked for.
  views: ReadonlyMap<string, ScopeView>;
  // The index's layout with everything open, once the worker has made it ahead.
  allOpen: LayoutAnswer | null;
  errors: ReadonlyMap<string, string>;
  // What the page opened by itself, while the address names no scopes.
  auto: readonly string[];
}

const NOTHING: Omit<ScopeState, 'job' | 'graph'> = {
  index: null,
  lifted: null,
  views: new Map(),
  allOpen: null,
  errors: new Map(),
  auto: [],
};

export const useScopes = create<ScopeState>(() => ({ job: null, graph: null, ...NOTHING }));

// "scopes": the server gives no index; scopes are asked for one by one.
let source: 'index' | 'scopes' = 'index';
let loading_index = false;
let load_again = false;
const loading = new Set<string>();
// The step that the job was at when the views were asked for.
let views_step = -1;
// The first view's choice has been made in full, on a graph that a whole step built.
let chosen = false;
// The choice was made of a graph that a step had begun to build.
let chosen_in_step = false;

function jobStep(): number {
  return useJob.getState().model.info?.step ?? 0;
}

export function startScopes(job: string, graph: string | null): void {
  const known = useScopes.getState();
  if (known.job === job && known.graph === graph) {
    if (known.index === null) loadIndex();
    return;
  }
  loading.clear();
  source = 'index';
  loading_index = false;
  chosen = false;
  chosen_in_step = false;
  views_step = -1;
  useScopes.setState({ job, graph, ...NOTHING });
  loadIndex();
}

function loadIndex(): void {
  const { job, graph } = useScopes.getState();
  if (job === null || source !== 'index') return;
  // One at a time: a growing graph would be asked for faster than it can be sent.
  load_again = loading_index;
  if (loading_index) return;
  loading_index = true;
  views_step = jobStep();
  const of = { job, graph };
  if (!takeEarly(of)) askWorker({ type: 'load', of, token: readToken() });
}

function finishLoad(): void {
  loading_index = false;
  if (load_again) loadIndex();
}

// Enough for a step of what is made ready.
const LEAST_IDLE_MS = 4;

// Some node of the views is marked as watched.
let marked = false;

function* prepare(views: IndexViews): Generator<ScopeView | null> {
  yield* prepareNames(views.index);
  yield* prepareViews(views);
}

function prepareWhenIdle(views: IndexViews): void {
  const steps = prepare(views);
  const next = (idle: IdleDeadline) => {
    do {
      const { done, value } = steps.next();
      if (done || useScopes.getState().views !== views) return;
      if (value) layoutOf(value);
    } while (idle.timeRemaining() > LEAST_IDLE_MS);
    requestIdleCallback(next);
  };
  requestIdleCallback(next);
}

// Once the first step has begun, nothing that is open closes by itself: what it adds to
// the graph is only opened beside it.
function choiceOf(views: ReadonlyMap<string, ScopeView>): AutoOpen {
  const { auto } = useScopes.getState();
  const fresh = autoOpen(views);
  const kept = chosen_in_step ? auto.filter((name) => views.has(name)) : [];
  chosen_in_step = views_step > 0;
  return { ...fresh, open: [...new Set([...kept, ...fresh.open])] };
}

function takeIndex(index: GraphIndex, lifted: LiftedEdges): void {
  marked = false;
  const views = new IndexViews(index, lifted, null);
  void firstGraph.then(() => prepareWhenIdle(views));
  // With its first view, so that nothing is drawn that is opened at once.
  const { route } = useRouter.getState();
  const choose = !chosen && route.view === 'job' && route.route.open === null;
  const auto = choose ? choiceOf(views).open : useScopes.getState().auto;
  useScopes.setState({ index, lifted, views, allOpen: null, errors: new Map(), auto });
  askForWatched();
}

// The same graph with other marks.
function showViews(views: IndexViews): void {
  useScopes.setState({ views });
  prepareWhenIdle(views);
}

// Asks which nodes are watched; nothing is to be asked while nothing is watched.
function askForWatched(): void {
  const { index, lifted } = useScopes.getState();
  if (index === null || lifted === null) return;
  const selections = watchSelections();
  if (selections.length > 0) askWorker({ type: 'watch', selections });
  else if (marked) showViews(new IndexViews(index, lifted, null));
  marked = selections.length > 0;
}

// Whether it is still the graph that the page shows.
function isShown(of: GraphKey): boolean {
  const { job, graph } = useScopes.getState();
  return of.job === job && of.graph === graph;
}

onWorker((message) => {
  const { index, lifted } = useScopes.getState();
  switch (message.type) {
    case 'index':
      if (!isShown(message.of)) return;
      takeIndex(new GraphIndex(message.arrays), message.lifted);
      finishLoad();
      return;
    case 'all-open':
      // The index before it has come already: messages keep their order.
      if (isShown(message.of)) useScopes.setState({ allOpen: message.answer });
      return;
    case 'same':
      if (isShown(message.of)) finishLoad();
      return;
    case 'failed':
      if (!isShown(message.of)) return;
      loading_index = false;
      // What is known already stays; a server that gives no index is asked for one
      // scope after the other, any other trouble is tried again with the next event.
      if (index === null && message.refused) {
        source = 'scopes';
        useScopes.setState({ views: new Map(), errors: new Map() });
      }
      return;
    case 'watched':
      if (index === null || lifted === null) return;
      showViews(new IndexViews(index, lifted, new Watched(message.states)));
  }
});

// The graph or what is watched has changed.
export function graphChanged(): void {
  if (source === 'index') loadIndex();
  else void refreshScopes();
}

export function watchChanged(): void {
  if (source === 'index') askForWatched();
  else void refreshScopes();
}

// The page counts hits itself, where it knows the whole graph.
export function hitsChanged(): void {
  if (source === 'scopes') void refreshScopes();
}

// All scopes are open but those that are named after it with a minus.
const EVERYTHING = '**';

// The scopes that are open: those of the address, else the page's own choice;
// always those around the selected node.
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

// Views that must be open for a node to show, outermost first.
export function pathOf(name: string): readonly string[] {
  const { index } = useScopes.getState();
  return index === null ? ancestorsOf(name) : pathTo(index, name);
}

export function currentOpen(): ReadonlySet<string> {
  const { route } = useRouter.getState();
  if (route.view !== 'job') return new Set();
  return openScopes(route.route.open, useScopes.getState().auto, route.route.node);
}

async function fetchScope(of: GraphKey, name: string): Promise<void> {
  loading.add(name);
  if (name === '') views_step = jobStep();
  try {
    const view = await api.scope(of.job, of.graph, name);
    if (!isShown(of)) return;
    useScopes.setState(({ views, errors }) => {
      const left = new Map(errors);
      left.delete(name);
      return { views: new Map(views).set(name, view), errors: left };
    });
  } catch (error) {
    if (!isShown(of)) return;
    useScopes.setState(({ errors }) => ({ errors: new Map(errors).set(name, describe(error)) }));
  } finally {
    loading.delete(name);
  }
}

// Makes the first view's choice, and fetches what is open and not known yet.
// The first step builds the graph; what later steps add does not change the choice.
export function ensureScopes(open: ReadonlySet<string>, choose: boolean): void {
  const { job, graph, index, views, errors } = useScopes.getState();
  if (job === null || (source === 'index' && index === null)) return;
  const missing = new Set(['', ...open].filter((name) => !views.has(name)));
  if (choose && !chosen) {
    const choice = choiceOf(views);
    for (const name of choice.wanted) missing.add(name);
    if (choice.open.join() !== useScopes.getState().auto.join()) {
      useScopes.setState({ auto: choice.open });
    }
    chosen = choice.wanted.length === 0 && choice.open.length > 0 && views_step > 1;
  }
  if (source === 'index') return;
  for (const name of missing) {
    if (views.has(name) || loading.has(name) || errors.has(name)) continue;
    void fetchScope({ job, graph }, name);
  }
}

export function retryScope(name: string): void {
  const { job, graph } = useScopes.getState();
  if (job !== null && !loading.has(name)) void fetchScope({ job, graph }, name);
}

// Asks anew for everything that is shown, and changes it all at once. Closed
// scopes are dropped: they are asked for when they are opened.
async function refreshScopes(): Promise<void> {
  const { job, graph } = useScopes.getState();
  if (job === null) return;
  const names = ['', ...currentOpen()];
  const step = jobStep();
  const answers = await Promise.allSettled(names.map((name) => api.scope(job, graph, name)));
  if (!isShown({ job, graph })) return;
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
  const { route } = useRouter.getState();
  const listed = route.view === 'job' ? route.route.open : null;
  const isOpen = currentOpen().has(name);
  if (listed?.includes(EVERYTHING)) {
    const others = listed.filter((entry) => entry !== `-${name}` && entry !== name);
    patchRoute({ open: isOpen ? [...others, `-${name}`] : others });
    return;
  }
  const open = new Set(currentOpen());
  // What is inside stays open for the next time, as in other trees.
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

// Shows what is around the selected node, so many tensors far; null: all again.
export function showAround(depth: number | null): void {
  patchRoute({ around: depth }, depth === null ? 'replace' : 'push');
}

// Opens what hides a node and selects it.
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
