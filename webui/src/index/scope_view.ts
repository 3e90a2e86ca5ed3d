// Builds the view of one scope from the index, in the form in which the server sends a scope.

import type { Category, GraphEdge, GraphNode, Output, ScopeView } from '../api/types';
import { openName } from './aggregates';
import { NONE, type GraphIndex } from './graph_index';
import type { LiftedEdges } from './lifted_edges';
import type { Watched } from './coverage';
import { modelGraphOf, ownerOf } from './model_graph';
import type { Opened, Shown } from './shown';

// Shared outputs, by text and count: a graph has few different ones.
const outputCache = new WeakMap<GraphIndex, Map<number, Output[]>>();

// Parses a text such as "float32[2, 3]", which describes the first output. Of the others only the
// number is known.
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
  let known = outputCache.get(index);
  if (known === undefined) outputCache.set(index, (known = new Map()));
  const text = index.nodeOutput[node] as number;
  const key = text * 256 + count;
  let made = known.get(key);
  if (made === undefined) known.set(key, (made = readOutputs(index.texts.at(text), count)));
  return made;
}

const NO_OUTPUTS: Output[] = [];

// In the graph of a model, ops are titled by their types and contain their weights.
function ofModel(index: GraphIndex, item: number): Pick<GraphNode, 'title' | 'inside'> {
  if (index.isScope(item) || modelGraphOf(index) === null) return NOTHING;
  const title = index.kind(item) === 'op' ? { title: index.opType(item) } : NOTHING;
  const owner = ownerOf(index, item);
  return owner === NONE ? title : { ...title, inside: index.name(owner) };
}

const NOTHING = {};

// Weights in the boxes of their ops do not count.
function childCount(index: GraphIndex, scope: number): number {
  if (modelGraphOf(index) === null) return index.childrenOf(scope).length;
  const shown = openName(index, index.name(scope))?.shown ?? [];
  return shown.filter(({ items }) => ownerOf(index, items[0] as number) === NONE).length;
}

export function nodeOf(index: GraphIndex, item: number, watched: Watched | null): GraphNode {
  const scope = index.isScope(item);
  const line = scope ? 0 : (index.nodeLine[item - index.scopeCount] as number);
  const file = scope ? 0 : (index.nodeFile[item - index.scopeCount] as number);
  return {
    ...ofModel(index, item),
    name: index.name(item),
    label: index.label(item),
    kind: index.kind(item),
    op_type: index.opType(item),
    category: index.category(item),
    child_count: scope ? childCount(index, item) : 0,
    descendant_count: scope ? index.descendants(item) : 0,
    outputs: scope ? NO_OUTPUTS : outputsOf(index, item),
    hit_count: 0,
    watched: watched?.of(item) ?? 'none',
    source: file === 0 ? null : { file: index.texts.at(file), line },
  };
}

// Returns the value of `of` if it is the same for all items.
function common<T>(items: number[], of: (item: number) => T, otherwise: T): T {
  const first = of(items[0] as number);
  return items.every((item) => of(item) === first) ? first : otherwise;
}

// The label of an aggregate: "relu_3 … relu_40".
function spanOf(index: GraphIndex, items: readonly number[]): string {
  const [first, last] = [index.label(items[0] as number), index.label(items.at(-1) as number)];
  return items.length === 1 ? first : `${first} … ${last}`;
}

function aggregateOf(index: GraphIndex, scope: number, shown: Shown, watched: Watched | null): GraphNode {
  const { items, label } = shown;
  const around = index.name(scope);
  const type = common<number | null>(items, (item) => index.opTypeText(item), null);
  return {
    ...(shown.title === undefined ? {} : { title: shown.title, detail: shown.detail ?? '' }),
    name: around === '' ? label : `${around}/${label}`,
    label: shown.title ?? spanOf(index, items),
    kind: 'aggregate',
    op_type: type === null ? '' : index.texts.at(type),
    category: common<Category>(items, (item) => index.category(item), 'other'),
    child_count: shown.count ?? items.length,
    descendant_count: items.reduce((sum, item) => sum + index.descendants(item), 0),
    outputs: [],
    hit_count: 0,
    watched: watched === null ? 'none' : common(items, (item) => watched.of(item), 'some'),
    source: null,
  };
}

export function nodeOfShown(index: GraphIndex, scope: number, shown: Shown, watched: Watched | null): GraphNode {
  return shown.label === ''
    ? nodeOf(index, shown.items[0] as number, watched)
    : aggregateOf(index, scope, shown, watched);
}

const beginOf = (lifted: LiftedEdges, scope: number) =>
  scope === 0 ? 0 : (lifted.end[scope - 1] as number);

// By item: its position in the current view, plus 1. Shared by all views of the index.
const placesOfIndex = new WeakMap<GraphIndex, Int32Array>();

function placesOf(index: GraphIndex): Int32Array {
  let places = placesOfIndex.get(index);
  if (places === undefined) {
    places = new Int32Array(index.scopeCount + index.nodeCount);
    placesOfIndex.set(index, places);
  }
  return places;
}

// Merges edges of the same kind between the same two nodes.
class EdgeSum {
  private readonly known = new Map<number, GraphEdge>();

  constructor(
    private readonly lifted: LiftedEdges,
    private readonly nodes: GraphNode[],
    private readonly places: Int32Array,
  ) {}

  add(i: number): void {
    const { lifted, places, nodes } = this;
    const from = (places[lifted.from[i] as number] as number) - 1;
    const to = (places[lifted.to[i] as number] as number) - 1;
    if (from < 0 || to < 0 || from === to) return;
    const control = lifted.control[i] as number;
    const key = (from * nodes.length + to) * 2 + control;
    const edge = this.known.get(key);
    if (edge !== undefined) {
      edge.tensors += lifted.tensors[i] as number;
      return;
    }
    this.known.set(key, {
      from: (nodes[from] as GraphNode).name,
      to: (nodes[to] as GraphNode).name,
      tensors: lifted.tensors[i] as number,
      kind: control === 1 ? 'control' : 'data',
    });
  }

  all(): GraphEdge[] {
    return [...this.known.values()];
  }
}

// Returns the edges between the shown children.
function edgesOf(index: GraphIndex, lifted: LiftedEdges, { scope, shown }: Opened, nodes: GraphNode[]): GraphEdge[] {
  const places = placesOf(index);
  shown.forEach(({ items }, place) => {
    for (const item of items) places[item] = place + 1;
  });
  const sum = new EdgeSum(lifted, nodes, places);
  for (let i = beginOf(lifted, scope); i < (lifted.end[scope] as number); i += 1) sum.add(i);
  for (const { items } of shown) for (const item of items) places[item] = 0;
  return sum.all();
}

// Returns null if no scope or aggregate has that name. Without `lifted` the view has no edges.
export function viewOf(
  index: GraphIndex,
  lifted: LiftedEdges | null,
  watched: Watched | null,
  name: string,
): ScopeView | null {
  const opened = openName(index, name);
  if (opened === null) return null;
  const nodes = opened.shown.map((shown) => nodeOfShown(index, opened.scope, shown, watched));
  const edges = lifted === null ? [] : edgesOf(index, lifted, opened, nodes);
  return { scope: name, nodes, edges };
}
