// Prepares views in idle time, so that scopes open without delay.

import type { ScopeView } from '../api/types';
import { openName } from './aggregates';
import type { IndexViews } from './index_views';

const MANY_CHILDREN = 1000;
// Views have one object per node, so those of a large graph are not all built.
const MAX_NODES = 8000;

// Prepares one scope per step: first those with many children, whose grouping is the most
// expensive, then the views of others until the limit. Yields each view that it builds.
export function* prepareViews(views: IndexViews): Generator<ScopeView | null> {
  const { index } = views;
  for (let scope = 0; scope < index.scopeCount; scope += 1) {
    if (index.childrenOf(scope).length < MANY_CHILDREN) continue;
    openName(index, index.name(scope));
    yield null;
  }
  let nodes = 0;
  for (let scope = 0; scope < index.scopeCount && nodes < MAX_NODES; scope += 1) {
    const view = views.get(index.name(scope));
    if (view === undefined) continue;
    nodes += view.nodes.length;
    yield view;
  }
}
