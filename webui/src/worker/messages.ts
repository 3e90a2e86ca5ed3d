// Messages between the page and its worker.

import type { IndexArrays } from '../index/graph_index';
import type { LiftedEdges } from '../index/lifted_edges';
import type { WatchSelection } from '../index/coverage';
import type { LayoutAnswer, LayoutRequest } from '../graph/layout_types';
import type { FarColours } from '../graph/overview';

// One graph of a job. Null is the graph that the server shows first.
export interface GraphKey {
  job: string;
  graph: string | null;
}

export function sameGraph(a: GraphKey, b: GraphKey): boolean {
  return a.job === b.job && a.graph === b.graph;
}

export type ToWorker =
  // Fetches the index of the graph; answered with `index`, `same` or `failed`.
  | { type: 'load'; key: GraphKey; token: string | null }
  // Computes the nodes that the watchpoints cover; answered with `watched`.
  | { type: 'watch'; selections: WatchSelection[] }
  // Computes the nodes that one selection covers; answered with `covered`.
  | { type: 'cover'; selection: WatchSelection }
  | { type: 'search'; id: number; text: string }
  // Lays out `scopes`, or, where that is null, the open scopes of the index. With `answered`
  // the page has this layout already and only the worker's overview needs it.
  | { type: 'layout'; id: number; open: string[]; scopes: LayoutRequest['scopes'] | null; answered: boolean }
  // Draws the newest layout in at most `side` × `side` pixels.
  | { type: 'overview'; id: number; side: number; colours: FarColours };

export type FromWorker =
  | { type: 'index'; key: GraphKey; arrays: IndexArrays; lifted: LiftedEdges }
  // The index has not changed since it was last sent.
  | { type: 'same'; key: GraphKey }
  // `refused`: the server provides no index of this graph.
  | { type: 'failed'; key: GraphKey; refused: boolean }
  | { type: 'watched'; states: Uint8Array }
  // `states` is empty while no graph is loaded.
  | { type: 'covered'; states: Uint8Array }
  | { type: 'found'; id: number; items: Uint32Array }
  | { type: 'layout'; answer: LayoutAnswer }
  // The layout with all scopes open, sent unasked for graphs of moderate size.
  | { type: 'all-open'; key: GraphKey; answer: LayoutAnswer }
  | { type: 'overview'; id: number; bitmap: ImageBitmap; scale: number };
