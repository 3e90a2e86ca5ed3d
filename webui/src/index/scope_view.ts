// What a scope holds, from the index, as the server tells it of a single scope.

import type { Category, GraphEdge, GraphNode, Output, ScopeView } from '../api/types';
import { openName, type Shown } from './aggregates';
import type { GraphIndex } from './graph_index';
import type { LiftedEdges } from './lifted_edges';
import type { Watched } from './coverage';

// The text "float32[2, 3]".
function outputsOf(index: GraphIndex, item: number): Output[] {
  const node = item - index.scopeCount;
  const count = index.column('node_output_count')[node] as number;
  if (count === 0) return [];
  const text = index.texts.at(index.column('node_output')[node] as number);
  const cut = text.indexOf('[');
  const inside = text.slice(cut + 1, -1);
  const first: Output = {
    slot: 0,
    dtype: text.slice(0, cut),
    shape: inside === '' ? [] : inside.split(',').map(Number),
  };
  // Of the others only their number is known.
  return Array.from({ length: count }, (_, slot) => (slot === 0 ? first : { slot, dtype: '', shape: [] }));
}

export function nodeOf(index: GraphIndex, item: number, watched: Watched | null): GraphNode {
  const scope = index.isScope(item);
  const line = scope ? 0 : (index.column('node_line')[item - index.scopeCount] as number);
  const file = scope ? 0 : (index.column('node_file')[item - index.scopeCount] as number);
  return {
    name: index.name(item),
    label: index.label(item),
    kind: index.kind(item),
    op_type: index.opType(item),
    category: index.category(item),
    child_count: scope ? index.childrenOf(item).length : 0,
    descendant_count: scope ? index.descendants(item) : 0,
    outputs: scope ? [] : outputsOf(index, item),
    hit_count: 0,
    watched: watched?.of(item) ?? 'none',
    source: file === 0 ? null : { file: index.texts.at(file), line },
  };
}

function common<T>(values: T[], otherwise: T): T {
  return values.every((value) => value === values[0]) ? (values[0] as T) : otherwise;
}

function aggregateOf(index: GraphIndex, scope: number, shown: Shown, watched: Watched | null): GraphNode {
  const around = index.name(scope);
  const states = shown.items.map((item) => watched?.of(item) ?? 'none');
  return {
    name: around === '' ? shown.label : `${around}/${shown.label}`,
    label: shown.label,
    kind: 'aggregate',
    op_type: common(shown.items.map((item) => index.opType(item)), ''),
    category: common<Category>(shown.items.map((item) => index.category(item)), 'other'),
    child_count: shown.items.length,
    descendant_count: shown.items.reduce((sum, item) => sum + index.descendants(item), 0),
    outputs: [],
    hit_count: 0,
    watched: common(states, 'some'),
    source: null,
  };
}

// Between what is shown, each pair once for each kind.
function edgesOf(
  lifted: LiftedEdges,
  scope: number,
  shown: Shown[],
  nodes: GraphNode[],
): GraphEdge[] {
  const places = new Map<number, number>();
  shown.forEach(({ items }, place) => items.forEach((item) => places.set(item, place)));
  const known = new Map<number, GraphEdge>();
  const begin = scope === 0 ? 0 : (lifted.end[scope - 1] as number);
  for (let i = begin; i < (lifted.end[scope] as number); i += 1) {
    const from = places.get(lifted.from[i] as number);
    const to = places.get(lifted.to[i] as number);
    if (from === undefined || to === undefined || from === to) continue;
    const control = lifted.control[i] as number;
    const key = (from * nodes.length + to) * 2 + control;
    const edge = known.get(key);
    if (edge !== undefined) {
      edge.tensors += lifted.tensors[i] as number;
      continue;
    }
    known.set(key, {
      from: (nodes[from] as GraphNode).name,
      to: (nodes[to] as GraphNode).name,
      tensors: lifted.tensors[i] as number,
      kind: control === 1 ? 'control' : 'data',
    });
  }
  return [...known.values()];
}

// Null: there is no scope and no aggregate of that name. `lifted` null: no edges.
export function viewOf(
  index: GraphIndex,
  lifted: LiftedEdges | null,
  watched: Watched | null,
  name: string,
): ScopeView | null {
  const opened = openName(index, name);
  if (opened === null) return null;
  const nodes = opened.shown.map((shown) =>
    shown.label === ''
      ? nodeOf(index, shown.items[0] as number, watched)
      : aggregateOf(index, opened.scope, shown, watched),
  );
  const edges = lifted === null ? [] : edgesOf(lifted, opened.scope, opened.shown, nodes);
  return { scope: name, nodes, edges };
}
