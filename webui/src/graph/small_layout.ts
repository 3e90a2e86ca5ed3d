// Drawings of few boxes are laid out where they are asked for. After a key or a click the
// browser lets no answer of the worker through before it has made a frame: with the
// worker, what was asked for is always a frame late.

import type { ScopeView } from '../api/types';
import { composeLayout, LayoutCache } from './compose';
import type { LayoutAnswer } from './layout_types';
import { layoutScopes, shownScopes } from './scene';

// In all open scopes together, and so in any one.
const MOST_BOXES = 800;

const cache = new LayoutCache();

// Null: they are too many.
export function smallLayout(
  id: number,
  open: ReadonlySet<string>,
  views: ReadonlyMap<string, ScopeView>,
): LayoutAnswer | null {
  let boxes = 0;
  for (const name of shownScopes(open, views)) {
    boxes += views.get(name)?.nodes.length ?? 0;
    if (boxes > MOST_BOXES) return null;
  }
  return composeLayout({ id, scopes: layoutScopes(open, views) }, cache);
}
