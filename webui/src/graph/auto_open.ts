// Which scopes the first view opens: level by level, the largest first, until
// enough boxes show.

import type { GraphNode, ScopeView } from '../api/types';
import { canOpen } from './scene';

export const FEWEST_BOXES = 30;
export const MOST_BOXES = 60;

export interface AutoOpen {
  open: string[];
  // Scopes whose children must be fetched before it can go on.
  wanted: string[];
}

interface Closed {
  node: GraphNode;
  depth: number;
}

function closedOf(view: ScopeView, depth: number): Closed[] {
  return view.nodes
    // What was folded for being alike is not opened again.
    .filter((node) => node.kind === 'scope' && canOpen(node))
    .map((node) => ({ node, depth }));
}

function comesFirst(a: Closed, b: Closed): Closed {
  if (a.depth !== b.depth) return a.depth < b.depth ? a : b;
  return b.node.descendant_count > a.node.descendant_count ? b : a;
}

export function autoOpen(views: ReadonlyMap<string, ScopeView>): AutoOpen {
  const top = views.get('');
  if (top === undefined) return { open: [], wanted: [''] };
  const open: string[] = [];
  let closed = closedOf(top, 0);
  let boxes = top.nodes.length;
  while (closed.length > 0) {
    const fitting = closed.filter(
      // Forward, backward and optimizer belong together: at the top, whatever fits.
      ({ node, depth }) =>
        boxes + node.child_count <= MOST_BOXES && (boxes < FEWEST_BOXES || depth === 0),
    );
    if (fitting.length === 0) break;
    const next = fitting.reduce(comesFirst);
    closed = closed.filter((other) => other !== next);
    open.push(next.node.name);
    const view = views.get(next.node.name);
    if (view === undefined) return { open, wanted: [next.node.name] };
    boxes += view.nodes.length;
    closed.push(...closedOf(view, next.depth + 1));
  }
  return { open, wanted: [] };
}
