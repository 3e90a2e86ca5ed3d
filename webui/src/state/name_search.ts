// The page's own search in the names of a graph. It avoids the worker for the same reason as
// small_layout.ts.

import type { GraphIndex } from '../index/graph_index';
import { parseQuery } from '../index/query';
import { NameSearch } from '../index/search';

const searches = new WeakMap<GraphIndex, NameSearch>();

function searchOf(index: GraphIndex): NameSearch {
  let search = searches.get(index);
  if (search === undefined) searches.set(index, (search = new NameSearch(index)));
  return search;
}

const NAMES_PER_STEP = 1500;

// Prepares the search in small steps, for idle time.
export function* prepareNames(index: GraphIndex): Generator<null> {
  while (!searchOf(index).prepare(NAMES_PER_STEP)) yield null;
}

// Returns null if the names are not prepared, or for a regular expression, which may be slow.
export function findNames(index: GraphIndex, text: string): Uint32Array | null {
  const search = searchOf(index);
  if (!search.ready || parseQuery(text).pattern !== null) return null;
  return search.find(text);
}
