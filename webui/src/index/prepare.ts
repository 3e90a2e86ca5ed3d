// What costs most of opening a scope of many thousand children is made ready while
// nobody waits for it.

import { openName } from './aggregates';
import type { GraphIndex } from './graph_index';

const MANY = 1000;

// A scope at a time; gives their names.
export function* prepareLarge(index: GraphIndex): Generator<string> {
  for (let scope = 0; scope < index.scopeCount; scope += 1) {
    if (index.childrenOf(scope).length < MANY) continue;
    const name = index.name(scope);
    openName(index, name);
    yield name;
  }
}
