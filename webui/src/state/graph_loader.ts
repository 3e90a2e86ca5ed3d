// Loads the graph that the page shows, as an index or scope by scope, and chooses which scopes
// are open while the address names none.

import { api } from '../api/client';
import { tokenStore } from '../api/token';
import type { ScopeView } from '../api/types';
import { shortAttributes } from '../base/attributes';
import { firstGraph } from '../base/timing';
import { autoOpen, type AutoOpen } from '../graph/auto_open';
import { layoutOf } from '../graph/scene';
import { Watched } from '../index/coverage';
import { GraphIndex } from '../index/graph_index';
import { IndexViews } from '../index/index_views';
import type { LiftedEdges } from '../index/lifted_edges';
import { modelGraphOf } from '../index/model_graph';
import { prepareViews } from '../index/prepare';
import { graphWorker } from '../worker/client';
import { sameGraph, type FromWorker, type GraphKey } from '../worker/messages';
import { describe } from './describe';
import { useJob } from './job_store';
import { prepareNames } from './name_search';
import { useRouter } from './router';
import { currentOpen, NO_GRAPH, useScopes } from './scopes';
import { watchSelections } from './watch_selections';

// Idle time that one step of preparation needs.
const MIN_IDLE_MS = 4;
// The server sends all attributes at once.
const MAX_NODES_WITH_ATTRIBUTES = 20_000;

function* prepare(views: IndexViews): Generator<ScopeView | null> {
  yield* prepareNames(views.index);
  yield* prepareViews(views);
}

// Prepares search, views and layouts while the browser is idle, until the page shows others.
function prepareWhenIdle(views: IndexViews): void {
  const steps = prepare(views);
  const runSteps = (idle: IdleDeadline) => {
    do {
      const { done, value } = steps.next();
      if (done || useScopes.getState().views !== views) return;
      if (value) layoutOf(value);
    } while (idle.timeRemaining() > MIN_IDLE_MS);
    requestIdleCallback(runSteps);
  };
  requestIdleCallback(runSteps);
}

// The same graph with other watch marks.
function replaceViews(views: IndexViews): void {
  useScopes.setState({ views });
  prepareWhenIdle(views);
}

function currentStep(): number {
  return useJob.getState().model.info?.step ?? 0;
}

// Returns whether the page still shows this graph.
function isShown(key: GraphKey): boolean {
  const { job, graph } = useScopes.getState();
  return key.job === job && key.graph === graph;
}

// Chooses the scopes that the first view opens. The choice is final once it is made on a graph
// that a whole step has built.
class OpenChoice {
  private is_final = false;
  // The choice was made on a graph that a step was still building.
  private during_step = false;

  get final(): boolean {
    return this.is_final;
  }

  // `step` is the job's step when the views were requested. Scopes opened while the first step
  // builds the graph stay open: later parts of it are only added beside them.
  choose(views: ReadonlyMap<string, ScopeView>, step: number): AutoOpen {
    const model = views instanceof IndexViews && modelGraphOf(views.index) !== null;
    const choice = autoOpen(views, model);
    const kept = this.during_step ? useScopes.getState().auto.filter((name) => views.has(name)) : [];
    this.during_step = step > 0;
    return { ...choice, open: [...new Set([...kept, ...choice.open])] };
  }

  settle({ open, wanted }: AutoOpen, step: number): void {
    this.is_final = wanted.length === 0 && open.length > 0 && step > 1;
  }
}

// The loading of one graph. A new one replaces it when the page shows another graph, and its
// late answers are ignored.
class GraphLoad {
  // 'scopes' if the server provides no index: scopes are then fetched one by one.
  private source: 'index' | 'scopes' = 'index';
  private loading_index = false;
  // The index changed while it was being loaded.
  private load_again = false;
  private readonly fetching = new Set<string>();
  // The job's step when the views were requested.
  private step = -1;
  private readonly choice = new OpenChoice();
  private attributes: ReadonlyMap<string, string> | null = null;
  // The views mark some nodes as watched.
  private has_watch_marks = false;

  constructor(readonly key: GraphKey) {}

  refresh(): void {
    if (this.source === 'index') this.loadIndex();
    else void this.refreshScopes();
  }

  refreshWatched(): void {
    if (this.source === 'index') this.requestWatched();
    else void this.refreshScopes();
  }

  // With an index the page counts hits itself.
  refreshHits(): void {
    if (this.source === 'scopes') void this.refreshScopes();
  }

  loadIndex(): void {
    if (this.source !== 'index') return;
    // One request at a time: a growing graph changes faster than its index can be sent.
    this.load_again = this.loading_index;
    if (this.loading_index) return;
    this.loading_index = true;
    this.step = currentStep();
    const { key } = this;
    if (!graphWorker.takeEarly(key)) graphWorker.post({ type: 'load', key, token: tokenStore.read() });
  }

  receive(message: FromWorker): void {
    switch (message.type) {
      case 'index':
        if (!sameGraph(message.key, this.key)) return;
        this.receiveIndex(new GraphIndex(message.arrays), message.lifted);
        this.finishLoad();
        return;
      case 'all-open':
        // Messages keep their order, so the index of this layout has arrived.
        if (sameGraph(message.key, this.key)) useScopes.setState({ allOpen: message.answer });
        return;
      case 'same':
        if (sameGraph(message.key, this.key)) this.finishLoad();
        return;
      case 'failed':
        if (sameGraph(message.key, this.key)) this.receiveFailure(message.refused);
        return;
      case 'watched': {
        const { index, lifted } = useScopes.getState();
        if (index === null || lifted === null) return;
        replaceViews(new IndexViews(index, lifted, new Watched(message.states), this.attributes));
      }
    }
  }

  // Makes the first view's choice and fetches open scopes that are not known yet.
  ensure(open: ReadonlySet<string>, choose: boolean): void {
    const { index, views, errors } = useScopes.getState();
    if (this.source === 'index' && index === null) return;
    const missing = new Set(['', ...open].filter((name) => !views.has(name)));
    if (choose && !this.choice.final) {
      const choice = this.choice.choose(views, this.step);
      for (const name of choice.wanted) missing.add(name);
      if (choice.open.join() !== useScopes.getState().auto.join()) useScopes.setState({ auto: choice.open });
      this.choice.settle(choice, this.step);
    }
    if (this.source === 'index') return;
    for (const name of missing) {
      if (!views.has(name) && !errors.has(name)) this.fetchScope(name);
    }
  }

  fetchScope(name: string): void {
    if (!this.fetching.has(name)) void this.fetch(name);
  }

  private finishLoad(): void {
    this.loading_index = false;
    if (this.load_again) this.loadIndex();
  }

  private receiveIndex(index: GraphIndex, lifted: LiftedEdges): void {
    this.has_watch_marks = false;
    const views = new IndexViews(index, lifted, null, this.attributes);
    void firstGraph.painted.then(() => prepareWhenIdle(views));
    // The open scopes change together with the index, so that nothing is drawn twice.
    const { route } = useRouter.getState();
    const choose = !this.choice.final && route.view === 'job' && route.route.open === null;
    const auto = choose ? this.choice.choose(views, this.step).open : useScopes.getState().auto;
    useScopes.setState({ index, lifted, views, allOpen: null, errors: new Map(), auto });
    this.requestWatched();
    if (modelGraphOf(index) !== null && index.nodeCount <= MAX_NODES_WITH_ATTRIBUTES) void this.loadAttributes(index);
  }

  // Boxes of ops have room for their attributes, which the index does not have.
  private async loadAttributes(index: GraphIndex): Promise<void> {
    const { key } = this;
    try {
      const { nodes } = await api.exportedGraph(key.job, key.graph);
      this.attributes = new Map(nodes.map(({ name, op_type, attributes }) => [name, shortAttributes(op_type, attributes)]));
    } catch {
      // The drawing is complete without them, and the side panel says if the server is gone.
      return;
    }
    const { lifted, views } = useScopes.getState();
    if (!isShown(key) || useScopes.getState().index !== index || lifted === null) return;
    replaceViews(new IndexViews(index, lifted, views instanceof IndexViews ? views.watched : null, this.attributes));
  }

  // An index that is already loaded stays. If the server provides none, scopes are fetched one by
  // one. After any other failure the next event retries.
  private receiveFailure(refused: boolean): void {
    this.loading_index = false;
    if (!refused || useScopes.getState().index !== null) return;
    this.source = 'scopes';
    useScopes.setState({ views: new Map(), errors: new Map() });
  }

  // Asks the worker which nodes are watched, unless no watchpoint is enabled.
  private requestWatched(): void {
    const { index, lifted } = useScopes.getState();
    if (index === null || lifted === null) return;
    const selections = watchSelections();
    if (selections.length > 0) graphWorker.post({ type: 'watch', selections });
    else if (this.has_watch_marks) replaceViews(new IndexViews(index, lifted, null, this.attributes));
    this.has_watch_marks = selections.length > 0;
  }

  private async fetch(name: string): Promise<void> {
    const { key } = this;
    this.fetching.add(name);
    if (name === '') this.step = currentStep();
    try {
      const view = await api.scope(key.job, key.graph, name);
      if (!isShown(key)) return;
      useScopes.setState(({ views, errors }) => {
        const left = new Map(errors);
        left.delete(name);
        return { views: new Map(views).set(name, view), errors: left };
      });
    } catch (error) {
      if (!isShown(key)) return;
      useScopes.setState(({ errors }) => ({ errors: new Map(errors).set(name, describe(error)) }));
    } finally {
      this.fetching.delete(name);
    }
  }

  // Fetches all open scopes and replaces them at once. Closed scopes are dropped; they are
  // fetched when they are opened.
  private async refreshScopes(): Promise<void> {
    const { key } = this;
    const names = ['', ...currentOpen()];
    const step = currentStep();
    const answers = await Promise.allSettled(names.map((name) => api.scope(key.job, key.graph, name)));
    if (!isShown(key)) return;
    if (!answers.some((answer) => answer.status === 'fulfilled')) return;
    // Includes scopes that were opened and fetched in the meantime.
    const shown = new Set(['', ...currentOpen()]);
    const views = new Map([...useScopes.getState().views].filter(([name]) => shown.has(name)));
    answers.forEach((answer, i) => {
      if (answer.status === 'fulfilled') views.set(names[i] as string, answer.value);
    });
    this.step = step;
    useScopes.setState({ views, errors: new Map() });
  }
}

class GraphLoader {
  private current: GraphLoad | null = null;

  constructor() {
    graphWorker.subscribe((message) => this.current?.receive(message));
  }

  // Shows a graph and starts loading it, unless it is shown already.
  show(job: string, graph: string | null): void {
    const key = { job, graph };
    if (this.current !== null && sameGraph(this.current.key, key)) {
      if (useScopes.getState().index === null) this.current.loadIndex();
      return;
    }
    this.current = new GraphLoad(key);
    useScopes.setState({ job, graph, ...NO_GRAPH });
    this.current.loadIndex();
  }

  graphChanged(): void {
    this.current?.refresh();
  }

  watchChanged(): void {
    this.current?.refreshWatched();
  }

  hitsChanged(): void {
    this.current?.refreshHits();
  }

  // Makes the first view's choice, if `choose`, and fetches open scopes that are not known.
  ensureScopes(open: ReadonlySet<string>, choose: boolean): void {
    this.current?.ensure(open, choose);
  }

  retryScope(name: string): void {
    this.current?.fetchScope(name);
  }
}

export const graphLoader = new GraphLoader();
