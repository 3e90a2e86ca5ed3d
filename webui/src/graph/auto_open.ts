// Chooses the scopes that the first view opens: level by level, the largest first, until enough
// boxes are visible.

import type { GraphNode, ScopeView } from '../api/types';
import { canOpen } from './scene';

export const MIN_BOXES = 30;
export const MAX_BOXES = 60;

export interface AutoOpen {
  open: string[];
  // Scopes whose children must be fetched before the choice can continue.
  wanted: string[];
}

interface Closed {
  node: GraphNode;
  depth: number;
}

function closedOf(view: ScopeView, depth: number): Closed[] {
  return view.nodes
    // Aggregates stay closed.
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
      // At the top level all scopes that fit are opened: forward, backward and optimizer belong
      // together.
      ({ node, depth }) =>
        boxes + node.child_count <= MAX_BOXES && (boxes < MIN_BOXES || depth === 0),
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
