// The page's own search over the names of a graph: see small_layout.ts for why it does
// not ask the worker.

import type { GraphIndex } from '../index/graph_index';
import { parseQuery } from '../index/query';
import { NameSearch } from '../index/search';

const searches = new WeakMap<GraphIndex, NameSearch>();

function searchOf(index: GraphIndex): NameSearch {
  let search = searches.get(index);
  if (search === undefined) searches.set(index, (search = new NameSearch(index)));
  return search;
}

const NAMES = 1500;

// To be taken a step at a time, while nobody waits.
export function* prepareNames(index: GraphIndex): Generator<null> {
  while (!searchOf(index).prepare(NAMES)) yield null;
}

// Null: the names are not ready, or it is a pattern, which may take any time.
export function findNames(index: GraphIndex, text: string): Uint32Array | null {
  const search = searchOf(index);
  if (!search.ready || parseQuery(text).pattern !== null) return null;
  return search.find(text);
}
