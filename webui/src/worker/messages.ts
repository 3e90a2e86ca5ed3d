// What the page asks of its worker, and what it gets back.

import type { IndexArrays } from '../index/graph_index';
import type { LiftedEdges } from '../index/lifted_edges';
import type { WatchSelection } from '../index/coverage';
import type { LayoutAnswer, LayoutRequest } from '../graph/layout_types';
import type { FarColours } from '../graph/overview';

// A graph of a job; of several, null is the one that the server shows first.
export interface GraphKey {
  job: string;
  graph: string | null;
}

export function sameGraph(a: GraphKey, b: GraphKey): boolean {
  return a.job === b.job && a.graph === b.graph;
}

export type ToWorker =
  // Fetches the graph's index; nothing comes back of one that was fetched before.
  | { type: 'load'; of: GraphKey; token: string | null }
  | { type: 'watch'; selections: WatchSelection[] }
  // Which nodes one selection covers.
  | { type: 'cover'; selection: WatchSelection }
  | { type: 'search'; id: number; text: string }
  // Of views that the page knows, or of the index, where `scopes` is null. `answered`:
  // the page has the layout already, and the worker is to know it for its overview.
  | { type: 'layout'; id: number; open: string[]; scopes: LayoutRequest['scopes'] | null; answered: boolean }
  // A picture of the newest layout, at most `side` pixels wide and high.
  | { type: 'overview'; id: number; side: number; colours: FarColours };

export type FromWorker =
  | { type: 'index'; of: GraphKey; arrays: IndexArrays; lifted: LiftedEdges }
  | { type: 'same'; of: GraphKey }
  // `refused`: there is no index, now or later.
  | { type: 'failed'; of: GraphKey; refused: boolean }
  | { type: 'watched'; states: Uint8Array }
  // Nothing, where no graph is known.
  | { type: 'covered'; states: Uint8Array }
  | { type: 'found'; id: number; items: Uint32Array }
  | { type: 'layout'; answer: LayoutAnswer }
  // With everything open, ahead of the question, of a graph that is not too large.
  | { type: 'all-open'; of: GraphKey; answer: LayoutAnswer }
  | { type: 'overview'; id: number; bitmap: ImageBitmap; scale: number };
