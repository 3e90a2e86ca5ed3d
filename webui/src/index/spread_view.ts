// The view of a scope in which the children of some of its scopes take the place of these scopes.

import type { GraphEdge, GraphNode, ScopeView } from '../api/types';
import { openName } from './aggregates';
import type { Watched } from './coverage';
import { firstPlaces, NONE, type GraphIndex } from './graph_index';
import { ownerOf } from './model_graph';
import { nodeOfShown } from './scope_view';
import type { Shown } from './shown';

interface Member {
  shown: Shown;
  // The number of the scope that contains it, and its label if it is one of those replaced.
  scope: number;
  around: string;
}

const placesOfIndex = new WeakMap<GraphIndex, Uint32Array>();

function placesOf(index: GraphIndex): Uint32Array {
  let places = placesOfIndex.get(index);
  if (places === undefined) placesOfIndex.set(index, (places = firstPlaces(index.arrays.columns)));
  return places;
}

// The children in the order of execution.
function membersOf(index: GraphIndex, scope: string, inner: readonly string[]): Member[] {
  const opened = openName(index, scope);
  if (opened === null) return [];
  const replaced = new Set(inner.map((name) => index.find(name)));
  const members = opened.shown.flatMap((shown): Member[] => {
    const item = shown.items[0] as number;
    if (!replaced.has(item)) return [{ shown, scope: opened.scope, around: '' }];
    const inside = openName(index, index.name(item));
    return (inside?.shown ?? []).map((each) => ({ shown: each, scope: item, around: `${index.label(item)}/` }));
  });
  const places = placesOf(index);
  const place = ({ shown }: Member) => places[shown.items[0] as number] as number;
  return members.toSorted((a, b) => place(a) - place(b));
}

// Merges edges between the same two nodes. Each end is the member that contains the edge's node.
function edgesOf(index: GraphIndex, members: readonly Member[], nodes: readonly GraphNode[]): GraphEdge[] {
  const memberOf = new Int32Array(index.scopeCount + index.nodeCount).fill(-1);
  members.forEach(({ shown }, i) => {
    for (const item of shown.items) memberOf[item] = i;
  });
  const find = (node: number) => {
    let item = node + index.scopeCount;
    while (memberOf[item] === -1 && item !== 0) item = index.parent(item);
    return memberOf[item] as number;
  };
  const edges = new Map<number, GraphEdge>();
  let edge = 0;
  for (let node = 0; node < index.nodeCount; node += 1) {
    const end = index.edgeEnd[node] as number;
    const to = edge < end ? find(node) : -1;
    for (; edge < end; edge += 1) {
      const source = (node - (index.edgeBack[edge] as number)) >>> 0;
      const from = to < 0 || ownerOf(index, source + index.scopeCount) !== NONE ? -1 : find(source);
      if (from < 0 || from === to) continue;
      const control = index.edgeControl[edge] as number;
      const key = (from * nodes.length + to) * 2 + control;
      const known = edges.get(key);
      if (known !== undefined) known.tensors += 1;
      else {
        const ends = { from: (nodes[from] as GraphNode).name, to: (nodes[to] as GraphNode).name };
        edges.set(key, { ...ends, tensors: 1, kind: control === 1 ? 'control' : 'data' });
      }
    }
  }
  return [...edges.values()];
}

export function spreadView(index: GraphIndex, watched: Watched | null, scope: string, inner: readonly string[]): ScopeView {
  const members = membersOf(index, scope, inner);
  const nodes = members.map(({ shown, scope: around, around: path }) => {
    const node = nodeOfShown(index, around, shown, watched);
    return { ...node, label: path + node.label };
  });
  return { scope, nodes, edges: edgesOf(index, members, nodes) };
}
