// What a scope holds, from the index, as the server tells it of a single scope.

import type { Category, GraphEdge, GraphNode, Output, ScopeView } from '../api/types';
import { openName, type Shown } from './aggregates';
import type { GraphIndex } from './graph_index';
import type { LiftedEdges } from './lifted_edges';
import type { Watched } from './coverage';

// Few outputs differ: by index, by their text and number.
const outputs = new WeakMap<GraphIndex, Map<number, Output[]>>();

// The text is "float32[2, 3]", of the first output; of the others only their number
// is known.
function readOutputs(text: string, count: number): Output[] {
  const cut = text.indexOf('[');
  const inside = text.slice(cut + 1, -1);
  const shape = inside === '' ? [] : inside.split(',').map(Number);
  const first: Output = { slot: 0, dtype: text.slice(0, cut), shape };
  return Array.from({ length: count }, (_, slot) => (slot === 0 ? first : { slot, dtype: '', shape: [] }));
}

function outputsOf(index: GraphIndex, item: number): Output[] {
  const node = item - index.scopeCount;
  const count = index.nodeOutputCount[node] as number;
  if (count === 0) return NO_OUTPUTS;
  let known = outputs.get(index);
  if (known === undefined) outputs.set(index, (known = new Map()));
  const text = index.nodeOutput[node] as number;
  const key = text * 256 + count;
  let made = known.get(key);
  if (made === undefined) known.set(key, (made = readOutputs(index.texts.at(text), count)));
  return made;
}

const NO_OUTPUTS: Output[] = [];

export function nodeOf(index: GraphIndex, item: number, watched: Watched | null): GraphNode {
  const scope = index.isScope(item);
  const line = scope ? 0 : (index.nodeLine[item - index.scopeCount] as number);
  const file = scope ? 0 : (index.nodeFile[item - index.scopeCount] as number);
  return {
    name: index.name(item),
    label: index.label(item),
    kind: index.kind(item),
    op_type: index.opType(item),
    category: index.category(item),
    child_count: scope ? index.childrenOf(item).length : 0,
    descendant_count: scope ? index.descendants(item) : 0,
    outputs: scope ? NO_OUTPUTS : outputsOf(index, item),
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

// By scope: its edges by the item to which they lead, once part of it is asked for.
const byTarget = new WeakMap<LiftedEdges, Map<number, Map<number, number[]>>>();

function targetsOf(lifted: LiftedEdges, scope: number): Map<number, number[]> {
  let scopes = byTarget.get(lifted);
  if (scopes === undefined) byTarget.set(lifted, (scopes = new Map()));
  let targets = scopes.get(scope);
  if (targets !== undefined) return targets;
  targets = new Map();
  for (let i = beginOf(lifted, scope); i < (lifted.end[scope] as number); i += 1) {
    const to = lifted.to[i] as number;
    const list = targets.get(to);
    if (list === undefined) targets.set(to, [i]);
    else list.push(i);
  }
  scopes.set(scope, targets);
  return targets;
}

const beginOf = (lifted: LiftedEdges, scope: number) =>
  scope === 0 ? 0 : (lifted.end[scope - 1] as number);

// A range of a huge scope must not cost a look at all of its edges.
const FEW = 4096;

// Edges of a scope that may lead to these items.
function* edgesTo(lifted: LiftedEdges, scope: number, items: ReadonlyMap<number, number>): Generator<number> {
  const begin = beginOf(lifted, scope);
  const end = lifted.end[scope] as number;
  if (end - begin <= FEW) {
    for (let i = begin; i < end; i += 1) yield i;
    return;
  }
  const targets = targetsOf(lifted, scope);
  for (const item of items.keys()) yield* targets.get(item) ?? [];
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
  for (const i of edgesTo(lifted, scope, places)) {
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
