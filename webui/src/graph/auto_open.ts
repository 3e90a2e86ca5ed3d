// Chooses the scopes that the first view opens: level by level, the largest first, until enough
// boxes are visible.

import type { GraphNode, ScopeView } from '../api/types';
import { interleavedOf } from './interleaved';
import { canOpen } from './scene';

export const MIN_BOXES = 30;
export const MAX_BOXES = 60;

// Where less would be visible, a model opens a single scope that is larger than this.
const FEW_BOXES = 10;
const MANY_BOXES = 200;

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

// Blocks of one run open together, other folds of a model one by one.
function keyOf(node: GraphNode, view: ScopeView): string {
  if (node.kind === 'scope') return patternOf(node.name);
  return isFold(view.scope) ? `blocks of ${view.scope}` : node.name;
}

const isFold = (name: string) => /(?:^|\/)blocks?@[\d.]+$/.test(name);

// Weights in the boxes of their ops are no boxes of their own.
const boxesIn = (view: ScopeView) => view.nodes.reduce((count, { inside }) => count + (inside === undefined ? 1 : 0), 0);

// Adds the closed scopes of a view to their groups. Aggregates stay closed, unless they are blocks.
function addScopes(groups: Map<string, Group>, view: ScopeView, depth: number): void {
  const interleaved = interleavedOf(view);
  for (const node of view.nodes) {
    if (!canOpen(node) || (node.kind !== 'scope' && !isFold(node.name))) continue;
    const key = keyOf(node, view);
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

// The group to open next; null if the others stay closed.
function nextOf(closed: ReadonlyMap<string, Group>, boxes: number, model: boolean): [string, Group] | null {
  const fitting = [...closed].filter(
    // At the top level all scopes that fit are opened: forward, backward and optimizer belong
    // together.
    // A scope around a single box takes no more space open.
    ([, { nodes, children, depth, interleaved }]) =>
      (boxes + children <= MAX_BOXES && (boxes < MIN_BOXES || depth === 0 || interleaved)) || (model && children === nodes.length),
  );
  return fitting.reduce<[string, Group] | null>((a, b) => (a === null || comesFirst(a[1], b[1]) === b[1] ? b : a), null);
}

// Of a model whose alike blocks are too many to open them all, the first ones are opened as examples.
function exampleOf(closed: ReadonlyMap<string, Group>, boxes: number): [string, Group] | null {
  const most = boxes < FEW_BOXES ? MANY_BOXES : MAX_BOXES;
  for (const [key, group] of closed) {
    const [first] = group.nodes as [GraphNode];
    const fits = boxes < MIN_BOXES && boxes + first.child_count <= most;
    if (fits) return [key, { ...group, nodes: [first] }];
  }
  return null;
}

// `model`: the graph is that of a model, not of training.
export function autoOpen(views: ReadonlyMap<string, ScopeView>, model = false): AutoOpen {
  const top = views.get('');
  if (top === undefined) return { open: [], wanted: [''] };
  const open: string[] = [];
  const closed = new Map<string, Group>();
  addScopes(closed, top, 0);
  let boxes = boxesIn(top);
  while (closed.size > 0) {
    const found = nextOf(closed, boxes, model) ?? (model ? exampleOf(closed, boxes) : null);
    if (found === null) break;
    const [key, next] = found;
    const others = closed.get(key)?.nodes.filter((node) => !next.nodes.includes(node)) ?? [];
    closed.delete(key);
    if (others.length > 0) closed.set(key, { ...next, nodes: others, children: others.reduce((sum, node) => sum + node.child_count, 0) });
    open.push(...next.nodes.map(({ name }) => name));
    const wanted = next.nodes.flatMap(({ name }) => (views.has(name) ? [] : [name]));
    if (wanted.length > 0) return { open, wanted };
    for (const { name } of next.nodes) {
      const view = views.get(name) as ScopeView;
      boxes += boxesIn(view);
      addScopes(closed, view, next.depth + 1);
    }
  }
  return { open, wanted: [] };
}
