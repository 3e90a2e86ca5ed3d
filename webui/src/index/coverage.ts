// Computes which nodes watchpoints cover, by the same rules as the server
// (agent/conditions/selector.cc), so that a change is visible immediately.

import type { Category, WatchpointSpec } from '../api/types';
import type { GraphIndex } from './graph_index';
import { NONE } from './graph_index';

export type WatchSelection = Pick<WatchpointSpec, 'nodes' | 'scopes' | 'patterns' | 'categories'> & {
  // The only category that the condition applies to; null for all categories.
  target: Category | null;
};

// Coverage of each item.
export class Watched {
  // By item: 0 none, 1 some, 2 all.
  constructor(readonly states: Uint8Array) {}

  of(item: number): 'none' | 'some' | 'all' {
    return (['none', 'some', 'all'] as const)[this.states[item] ?? 0] ?? 'none';
  }
}

// Coverage of the items of one graph.
export interface Covered {
  index: GraphIndex;
  watched: Watched;
}

// Returns the shortest list of names for the covered nodes: scopes covered as a whole, and the
// remaining nodes.
export function namesOf({ index, watched }: Covered): { nodes: string[]; scopes: string[] } {
  const names = { nodes: [] as string[], scopes: [] as string[] };
  const visit = (scope: number) => {
    for (const child of index.childrenOf(scope)) {
      const state = watched.of(child);
      if (!index.isScope(child)) {
        if (state === 'all') names.nodes.push(index.name(child));
      } else if (state === 'all') names.scopes.push(index.name(child));
      else if (state === 'some') visit(child);
    }
  };
  visit(0);
  return names;
}

// Compiles a pattern: `*` matches within a segment, `**` across segments, `?` one character.
export function patternOf(pattern: string): RegExp {
  const parts = pattern.split(/(\*\*|\*|\?)/).map((part) => {
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    if (part === '?') return '[^/]';
    return part.replaceAll(/[\\^$.|+()[\]{}]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`, 's');
}

// By scope: 1 for the given scopes and all scopes below them.
function belowScopes(index: GraphIndex, scopes: readonly string[]): Uint8Array {
  const below = new Uint8Array(index.scopeCount);
  for (const name of scopes) {
    const item = index.find(name);
    if (item !== NONE && index.isScope(item) && item !== 0) below[item] = 1;
  }
  for (let scope = 1; scope < index.scopeCount; scope += 1) {
    if (below[index.parent(scope)]) below[scope] = 1;
  }
  return below;
}

function cover(index: GraphIndex, selection: WatchSelection, covered: Uint8Array): void {
  const { nodes, scopes, patterns, categories, target } = selection;
  for (const name of nodes) {
    const item = index.find(name);
    if (item !== NONE && !index.isScope(item)) covered[item - index.scopeCount] = 1;
  }
  const everything = scopes.length + patterns.length + categories.length === 0;
  if (everything && nodes.length > 0) return;
  const below = belowScopes(index, scopes);
  const shapes = patterns.map(patternOf);
  for (let node = 0; node < index.nodeCount; node += 1) {
    const item = node + index.scopeCount;
    const category = index.category(item);
    if (target !== null && target !== category) continue;
    covered[node] ||= Number(
      everything ||
        categories.includes(category) ||
        below[index.parent(item)] === 1 ||
        shapes.some((shape) => shape.test(index.name(item))),
    );
  }
}

// The same test for one node.
export function coversNode(selection: WatchSelection, name: string, category: Category): boolean {
  const { nodes, scopes, patterns, categories, target } = selection;
  if (nodes.includes(name)) return true;
  if (target !== null && target !== category) return false;
  const lists = [nodes, scopes, patterns, categories];
  return (
    lists.every((list) => list.length === 0) ||
    categories.includes(category) ||
    scopes.some((scope) => name.startsWith(`${scope}/`)) ||
    patterns.some((pattern) => patternOf(pattern).test(name))
  );
}

export function watchedBy(index: GraphIndex, selections: readonly WatchSelection[]): Watched {
  const covered = new Uint8Array(index.nodeCount);
  for (const selection of selections) cover(index, selection, covered);
  const states = new Uint8Array(index.scopeCount + index.nodeCount);
  const below = new Uint32Array(index.scopeCount);
  covered.forEach((yes, node) => {
    if (yes === 0) return;
    states[index.scopeCount + node] = 2;
    below[index.parent(index.scopeCount + node)]! += 1;
  });
  for (let scope = index.scopeCount - 1; scope >= 0; scope -= 1) {
    const count = below[scope] as number;
    if (scope > 0) below[index.parent(scope)]! += count;
    states[scope] = count === 0 ? 0 : count === index.descendants(scope) ? 2 : 1;
  }
  return new Watched(states);
}
