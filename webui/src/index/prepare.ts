// What opening scopes takes is made ready while nobody waits for it.

import type { ScopeView } from '../api/types';
import { openName } from './aggregates';
import type { IndexViews } from './index_views';

const MANY = 1000;
// Views hold an object for each node: not those of all of a large graph.
const MOST_NODES = 8000;

// A scope at a time: first those of many thousand children, whose grouping costs most,
// then as many others as may be kept. Gives the views of the latter.
export function* prepareViews(views: IndexViews): Generator<ScopeView | null> {
  const { index } = views;
  for (let scope = 0; scope < index.scopeCount; scope += 1) {
    if (index.childrenOf(scope).length < MANY) continue;
    openName(index, index.name(scope));
    yield null;
  }
  let nodes = 0;
  for (let scope = 0; scope < index.scopeCount && nodes < MOST_NODES; scope += 1) {
    const view = views.get(index.name(scope));
    if (view === undefined) continue;
    nodes += view.nodes.length;
    yield view;
  }
}
