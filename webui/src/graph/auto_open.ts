// Chooses the scopes that the first view opens: level by level, the largest first, until enough
// boxes are visible.

import type { GraphNode, ScopeView } from '../api/types';
import { interleavedOf } from './interleaved';
import { canOpen } from './scene';

export const MIN_BOXES = 30;
export const MAX_BOXES = 60;

export interface AutoOpen {
  open: string[];
  // Scopes whose children must be fetched before the choice can continue.
  wanted: string[];
}

// Closed scopes whose names differ only in numbers, such as the blocks of a model. They open together,
// since a single one that stays closed looks as if something were wrong with it.
interface Group {
  nodes: GraphNode[];
  depth: number;
  // The sum over the nodes.
  children: number;
  descendants: number;
  // As single boxes they would hide the order of execution.
  interleaved: boolean;
}

const patternOf = (name: string) => name.replaceAll(/\d+(?=\/|$)/g, '*');

// Adds the closed scopes of a view to their groups. Aggregates stay closed.
function addScopes(groups: Map<string, Group>, view: ScopeView, depth: number): void {
  const interleaved = interleavedOf(view);
  for (const node of view.nodes) {
    if (node.kind !== 'scope' || !canOpen(node)) continue;
    const key = patternOf(node.name);
    const group = groups.get(key) ?? { nodes: [], depth, children: 0, descendants: 0, interleaved: false };
    group.nodes.push(node);
    group.children += node.child_count;
    group.descendants += node.descendant_count;
    group.interleaved ||= interleaved.has(node.name);
    groups.set(key, group);
  }
}

function comesFirst(a: Group, b: Group): Group {
  if (a.depth !== b.depth) return a.depth < b.depth ? a : b;
  if (a.interleaved !== b.interleaved) return a.interleaved ? a : b;
  return b.descendants > a.descendants ? b : a;
}

export function autoOpen(views: ReadonlyMap<string, ScopeView>): AutoOpen {
  const top = views.get('');
  if (top === undefined) return { open: [], wanted: [''] };
  const open: string[] = [];
  const closed = new Map<string, Group>();
  addScopes(closed, top, 0);
  let boxes = top.nodes.length;
  while (closed.size > 0) {
    const fitting = [...closed].filter(
      // At the top level all scopes that fit are opened: forward, backward and optimizer belong
      // together.
      ([, { children, depth, interleaved }]) => boxes + children <= MAX_BOXES && (boxes < MIN_BOXES || depth === 0 || interleaved),
    );
    const next = fitting.map(([, group]) => group).reduce<Group | null>((a, b) => (a === null ? b : comesFirst(a, b)), null);
    if (next === null) break;
    closed.delete(patternOf(next.nodes[0]?.name ?? ''));
    open.push(...next.nodes.map(({ name }) => name));
    const wanted = next.nodes.flatMap(({ name }) => (views.has(name) ? [] : [name]));
    if (wanted.length > 0) return { open, wanted };
    for (const { name } of next.nodes) {
      const view = views.get(name) as ScopeView;
      boxes += view.nodes.length;
      addScopes(closed, view, next.depth + 1);
    }
  }
  return { open, wanted: [] };
}
