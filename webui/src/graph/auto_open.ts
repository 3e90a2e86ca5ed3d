// Which scopes the first view opens: the largest first, until enough boxes show.

import type { GraphNode, ScopeView } from '../api/types';

export const FEWEST_BOXES = 30;
export const MOST_BOXES = 60;

export interface AutoOpen {
  open: string[];
  // Scopes whose children must be fetched before it can go on.
  wanted: string[];
}

export function autoOpen(views: ReadonlyMap<string, ScopeView>): AutoOpen {
  const top = views.get('');
  if (top === undefined) return { open: [], wanted: [''] };
  const open: string[] = [];
  let closed: GraphNode[] = top.nodes.filter((node) => node.kind === 'scope');
  let boxes = top.nodes.length;
  while (closed.length > 0 && boxes < FEWEST_BOXES) {
    const fitting = closed.filter((node) => boxes + node.child_count <= MOST_BOXES);
    if (fitting.length === 0) break;
    const next = fitting.reduce((a, b) => (b.descendant_count > a.descendant_count ? b : a));
    closed = closed.filter((node) => node !== next);
    open.push(next.name);
    const view = views.get(next.name);
    if (view === undefined) return { open, wanted: [next.name] };
    boxes += view.nodes.length;
    closed.push(...view.nodes.filter((node) => node.kind === 'scope'));
  }
  return { open, wanted: [] };
}
