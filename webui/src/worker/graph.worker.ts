// Fetches and reads the graph's index, searches it, and lays out what is open.

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
  of: GraphKey;
  etag: string;
  index: GraphIndex;
  search: NameSearch;
  // Each made once, whatever is opened and closed.
  views: IndexViews;
}

const cache = new LayoutCache();
let graph: Graph | null = null;
let wanted: GraphKey = { job: '', graph: null };

function answer(message: FromWorker, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

function addressOf({ job, graph }: GraphKey): string {
  const query = graph === null ? '' : `?graph=${encodeURIComponent(graph)}`;
  return `/api/v1/jobs/${encodeURIComponent(job)}/graph/index${query}`;
}

async function load(of: GraphKey, token: string | null): Promise<void> {
  wanted = of;
  try {
    const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
    const response = await fetch(addressOf(of), { headers, cache: 'no-cache' });
    if (!response.ok) {
      answer({ type: 'failed', of, refused: response.status === 404 });
      return;
    }
    const etag = response.headers.get('ETag') ?? '';
    if (graph !== null && sameGraph(graph.of, of) && graph.etag === etag && etag !== '') {
      await response.body?.cancel();
      answer({ type: 'same', of });
      return;
    }
    const arrays = buildIndex(readColumns(await response.arrayBuffer()));
    // Another graph may have been opened meanwhile.
    if (!sameGraph(wanted, of)) return;
    const index = new GraphIndex(arrays);
    const lifted = liftEdges(index);
    const views = new IndexViews(index, lifted, null);
    graph = { of, etag, index, search: new NameSearch(index), views };
    answer({ type: 'index', of, arrays, lifted });
    // Before the first key is typed, but after the first graph is drawn.
    const steps = prepare(graph);
    setTimeout(() => takeSteps(steps), 400);
  } catch (error) {
    // Fetch throws a TypeError when the server cannot be reached.
    answer({ type: 'failed', of, refused: !(error instanceof TypeError) });
  }
}

const NAMES = 4000;
// Children of scopes whose layouts are made ahead.
const SMALL = 400;
// Nodes of a graph that is laid out ahead with everything open.
const ALL = 6000;

function* prepare(own: Graph): Generator {
  const { of, index, search, views } = own;
  while (!search.prepare(NAMES)) yield;
  for (const view of prepareViews(views)) {
    if (view !== null && view.nodes.length <= SMALL) prepareLayout(layoutOf(view), cache);
    yield;
  }
  // Around open scopes others are laid out anew: all of them, while they are not many.
  if (index.nodeCount > ALL) return;
  const all = composeLayout({ id: 0, scopes: layoutScopes(everyScope(views), views) }, cache);
  // The page would take it for that of the graph which came meanwhile.
  if (graph !== own) return;
  answer({ type: 'all-open', of, answer: all }, [all.boxes.buffer, all.points.buffer]);
}

const SLICE_MS = 5;

// What the page asks meanwhile comes between.
function takeSteps(steps: Generator): void {
  const end = performance.now() + SLICE_MS;
  while (performance.now() < end) if (steps.next().done) return;
  setTimeout(() => takeSteps(steps), 1);
}

// What the newest layout was made of, for its overview.
let shown: { answer: LayoutAnswer; views: IndexViews } | null = null;

function layout(message: Extract<ToWorker, { type: 'layout' }>): void {
  let { scopes } = message;
  shown = null;
  const views = graph?.views ?? null;
  if (scopes === null) {
    if (views === null) return;
    scopes = layoutScopes(new Set(message.open), views);
  }
  const made = composeLayout({ id: message.id, scopes }, cache);
  if (views !== null && made.boxes.length / 4 >= OVERVIEW_BOXES) {
    shown = { answer: { ...made, boxes: made.boxes.slice(), points: made.points.slice() }, views };
  }
  if (message.answered) return;
  answer({ type: 'layout', answer: made }, [made.boxes.buffer, made.points.buffer]);
}

self.addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  switch (data.type) {
    case 'load':
      void load(data.of, data.token);
      return;
    case 'watch':
      if (graph !== null) {
        const { states } = watchedBy(graph.index, data.selections);
        answer({ type: 'watched', states });
      }
      return;
    case 'cover': {
      const states = graph === null ? new Uint8Array() : watchedBy(graph.index, [data.selection]).states;
      answer({ type: 'covered', states });
      return;
    }
    case 'search': {
      const items = graph?.search.find(data.text) ?? new Uint32Array();
      answer({ type: 'found', id: data.id, items }, [items.buffer]);
      return;
    }
    case 'layout':
      layout(data);
      return;
    case 'overview': {
      if (shown === null || shown.answer.id !== data.id) return;
      const picture = drawOverview(shown.answer, shown.views, data.side, data.colours);
      if (picture !== null) answer({ type: 'overview', id: data.id, ...picture }, [picture.bitmap]);
    }
  }
});
