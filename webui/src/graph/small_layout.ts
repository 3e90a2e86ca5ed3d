// Lays out small drawings on the page itself. After an input event the browser delivers no message
// from the worker before the next frame, so a layout by the worker is always one frame late.

import { composeLayout, LayoutCache } from './compose';
import type { LayoutAnswer } from './layout_types';
import { layoutScopes, shownScopes, type Views } from './scene';

// In all open scopes together.
const MAX_BOXES = 800;

const cache = new LayoutCache();

// Returns null if there are too many boxes.
export function smallLayout(
  id: number,
  open: ReadonlySet<string>,
  views: Views,
): LayoutAnswer | null {
  let boxes = 0;
  for (const { view } of shownScopes(open, views)) {
    boxes += view.nodes.length;
    if (boxes > MAX_BOXES) return null;
  }
  return composeLayout({ id, scopes: layoutScopes(open, views) }, cache);
}
