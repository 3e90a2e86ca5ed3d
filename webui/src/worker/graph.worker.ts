// The worker: fetches and reads the graph's index, searches it, and lays out large graphs.

import { pathOf } from '../base/run_id';
import { composeLayout, LayoutCache, prepareLayout } from '../graph/compose';
import type { LayoutAnswer } from '../graph/layout_types';
import { drawOverview, OVERVIEW_BOXES } from '../graph/overview';
import { everyScope, layoutOf, layoutScopes } from '../graph/scene';
import { watchedBy } from '../index/coverage';
import { readColumns } from '../index/columns';
import { buildIndex, GraphIndex } from '../index/graph_index';
import { liftEdges } from '../index/lifted_edges';
import { IndexViews } from '../index/index_views';
import { prepareViews } from '../index/prepare';
import { NameSearch } from '../index/search';
import { sameGraph, type FromWorker, type GraphKey, type ToWorker } from './messages';

interface Graph {
  key: GraphKey;
  etag: string;
  index: GraphIndex;
  search: NameSearch;
  views: IndexViews;
}

function send(message: FromWorker, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

function urlOf({ job, graph }: GraphKey): string {
  const query = graph === null ? '' : `?graph=${encodeURIComponent(graph)}`;
  return `/api/v1${pathOf(job)}/graph/index${query}`;
}

// Names prepared for search in one step.
const NAMES_PER_STEP = 4000;
// Scopes with at most this many children are laid out ahead.
const MAX_CHILDREN_AHEAD = 400;
// Graphs with at most this many nodes are laid out ahead with all scopes open.
const MAX_NODES_AHEAD = 6000;
// Preparation starts after the first graph is drawn, but before the first key is typed.
const PREPARE_DELAY_MS = 400;
const SLICE_MS = 5;

// Runs the steps in short slices, between which messages of the page are handled.
function runInSlices(steps: Generator): void {
  const end = performance.now() + SLICE_MS;
  while (performance.now() < end) if (steps.next().done) return;
  setTimeout(() => runInSlices(steps), 1);
}

class GraphService {
  private readonly cache = new LayoutCache();
  private graph: Graph | null = null;
  // The graph of the newest `load` message; a fetch of any other graph is out of date.
  private requested: GraphKey = { job: '', graph: null };
  // Input of the overview: the newest layout and its views.
  private shown: { answer: LayoutAnswer; views: IndexViews } | null = null;

  handle(message: ToWorker): void {
    switch (message.type) {
      case 'load':
        void this.load(message.key, message.token);
        return;
      case 'watch':
        if (this.graph !== null) {
          send({ type: 'watched', states: watchedBy(this.graph.index, message.selections).states });
        }
        return;
      case 'cover': {
        const { graph } = this;
        const states = graph === null ? new Uint8Array() : watchedBy(graph.index, [message.selection]).states;
        send({ type: 'covered', states });
        return;
      }
      case 'search': {
        const items = this.graph?.search.find(message.text) ?? new Uint32Array();
        send({ type: 'found', id: message.id, items }, [items.buffer]);
        return;
      }
      case 'layout':
        this.layout(message);
        return;
      case 'overview':
        this.overview(message);
    }
  }

  private async load(key: GraphKey, token: string | null): Promise<void> {
    this.requested = key;
    try {
      const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
      const response = await fetch(urlOf(key), { headers, cache: 'no-cache' });
      if (!response.ok) {
        send({ type: 'failed', key, refused: response.status === 404 });
        return;
      }
      const etag = response.headers.get('ETag') ?? '';
      if (this.graph !== null && sameGraph(this.graph.key, key) && this.graph.etag === etag && etag !== '') {
        await response.body?.cancel();
        send({ type: 'same', key });
        return;
      }
      const arrays = buildIndex(readColumns(await response.arrayBuffer()));
      if (!sameGraph(this.requested, key)) return;
      const index = new GraphIndex(arrays);
      const lifted = liftEdges(index);
      const views = new IndexViews(index, lifted, null);
      const graph = { key, etag, index, search: new NameSearch(index), views };
      this.graph = graph;
      send({ type: 'index', key, arrays, lifted });
      setTimeout(() => runInSlices(this.prepare(graph)), PREPARE_DELAY_MS);
    } catch (error) {
      // fetch() throws a TypeError when the server cannot be reached.
      send({ type: 'failed', key, refused: !(error instanceof TypeError) });
    }
  }

  private *prepare(graph: Graph): Generator {
    const { key, index, search, views } = graph;
    while (!search.prepare(NAMES_PER_STEP)) yield;
    for (const view of prepareViews(views)) {
      if (view !== null && view.nodes.length <= MAX_CHILDREN_AHEAD) prepareLayout(layoutOf(view), this.cache);
      yield;
    }
    if (index.nodeCount > MAX_NODES_AHEAD) return;
    const answer = composeLayout({ id: 0, scopes: layoutScopes(everyScope(views), views) }, this.cache);
    // The page would take it for the layout of the graph that replaced this one.
    if (this.graph !== graph) return;
    send({ type: 'all-open', key, answer }, [answer.boxes.buffer, answer.points.buffer]);
  }

  private layout(message: Extract<ToWorker, { type: 'layout' }>): void {
    let { scopes } = message;
    this.shown = null;
    const views = this.graph?.views ?? null;
    if (scopes === null) {
      if (views === null) return;
      scopes = layoutScopes(new Set(message.open), views);
    }
    const answer = composeLayout({ id: message.id, scopes }, this.cache);
    if (views !== null && answer.boxes.length / 4 >= OVERVIEW_BOXES) {
      this.shown = { answer: { ...answer, boxes: answer.boxes.slice(), points: answer.points.slice() }, views };
    }
    if (message.answered) return;
    send({ type: 'layout', answer }, [answer.boxes.buffer, answer.points.buffer]);
  }

  private overview({ id, side, colours }: Extract<ToWorker, { type: 'overview' }>): void {
    if (this.shown === null || this.shown.answer.id !== id) return;
    const picture = drawOverview(this.shown.answer, this.shown.views, side, colours);
    if (picture !== null) send({ type: 'overview', id, ...picture }, [picture.bitmap]);
  }
}

const service = new GraphService();
self.addEventListener('message', ({ data }: MessageEvent<ToWorker>) => service.handle(data));
