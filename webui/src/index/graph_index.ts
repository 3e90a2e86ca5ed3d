// A whole graph in typed arrays: names, children in order, and counts, without an
// object for each node. Scopes and nodes are "items": scopes are numbered first, so
// that item - scopeCount is a node's own number.

import type { Category, NodeKind } from '../api/types';
import type { ColumnFile, Column } from './columns';
import { Texts } from './texts';

export const NONE = 0xffffffff;

export interface IndexArrays {
  kinds: string[];
  categories: string[];
  columns: Record<string, Column>;
  // By scope: where its children end in `children`; items in order of execution,
  // those that do not execute last, then by name.
  child_end: Uint32Array;
  children: Uint32Array;
  // By scope: nodes below it, at any depth.
  descendants: Uint32Array;
}

export class GraphIndex {
  readonly scopeCount: number;
  readonly nodeCount: number;
  readonly texts: Texts;
  private readonly scopeNames: string[] = [''];
  // By scope: its children by label, once somebody asked for one of them.
  private readonly byLabel = new Map<number, Map<string, number>>();

  constructor(readonly arrays: IndexArrays) {
    const { columns } = arrays;
    this.scopeCount = this.column('scope_parent').length;
    this.nodeCount = this.column('node_scope').length;
    this.texts = new Texts(
      columns['string_end'] as Uint32Array,
      columns['string_bytes'] as Uint8Array<ArrayBuffer>,
    );
  }

  column(name: string): Column {
    const column = this.arrays.columns[name];
    if (column === undefined) throw new Error(`the graph index has no ${name}`);
    return column;
  }

  isScope(item: number): boolean {
    return item < this.scopeCount;
  }

  label(item: number): string {
    const text = this.isScope(item)
      ? this.column('scope_label')[item]
      : this.column('node_label')[item - this.scopeCount];
    return this.texts.at(text as number);
  }

  // The scope that holds it; the top's is itself.
  parent(item: number): number {
    return (
      this.isScope(item)
        ? this.column('scope_parent')[item]
        : this.column('node_scope')[item - this.scopeCount]
    ) as number;
  }

  name(item: number): string {
    if (!this.isScope(item)) {
      const scope = this.name(this.parent(item));
      return scope === '' ? this.label(item) : `${scope}/${this.label(item)}`;
    }
    const known = this.scopeNames[item];
    if (known !== undefined) return known;
    const scope = this.name(this.parent(item));
    const name = scope === '' ? this.label(item) : `${scope}/${this.label(item)}`;
    this.scopeNames[item] = name;
    return name;
  }

  childrenOf(scope: number): Uint32Array {
    const begin = scope === 0 ? 0 : (this.arrays.child_end[scope - 1] as number);
    return this.arrays.children.subarray(begin, this.arrays.child_end[scope]);
  }

  childNamed(scope: number, label: string): number {
    let labels = this.byLabel.get(scope);
    if (labels === undefined) {
      labels = new Map();
      // A scope and a node may have the same name: the scope is what opens.
      for (const child of this.childrenOf(scope)) {
        const text = this.label(child);
        if (!labels.has(text) || this.isScope(child)) labels.set(text, child);
      }
      this.byLabel.set(scope, labels);
    }
    return labels.get(label) ?? NONE;
  }

  // NONE if there is none of that name; "" is the top.
  find(name: string): number {
    if (name === '') return 0;
    let item = 0;
    for (const label of name.split('/')) {
      if (!this.isScope(item)) return NONE;
      item = this.childNamed(item, label);
      if (item === NONE) return NONE;
    }
    return item;
  }

  kind(item: number): NodeKind {
    if (this.isScope(item)) return 'scope';
    const kind = this.column('node_kind')[item - this.scopeCount] as number;
    return (this.arrays.kinds[kind] ?? 'op') as NodeKind;
  }

  category(item: number): Category {
    if (this.isScope(item)) return 'other';
    const category = this.column('node_category')[item - this.scopeCount] as number;
    return (this.arrays.categories[category] ?? 'other') as Category;
  }

  // Of a scope the class of its module.
  opType(item: number): string {
    const text = this.isScope(item)
      ? this.column('scope_type')[item]
      : this.column('node_op_type')[item - this.scopeCount];
    return this.texts.at(text as number);
  }

  descendants(item: number): number {
    return this.isScope(item) ? (this.arrays.descendants[item] as number) : 1;
  }

  // Names of all scopes but the top.
  *scopes(): Generator<string> {
    for (let scope = 1; scope < this.scopeCount; scope += 1) yield this.name(scope);
  }
}

// The smallest place in the order of execution of each item; NONE: does not execute.
function firstPlaces(columns: Record<string, Column>): Uint32Array {
  const parents = columns['scope_parent'] as Uint32Array;
  const scopes = columns['node_scope'] as Uint32Array;
  const places = new Uint32Array(parents.length + scopes.length).fill(NONE);
  (columns['execution'] as Uint32Array).forEach((node, place) => {
    places[parents.length + node] = place;
  });
  const lower = (scope: number, place: number) => {
    if (place < (places[scope] as number)) places[scope] = place;
  };
  scopes.forEach((scope, node) => lower(scope, places[parents.length + node] as number));
  // Parents come before their children.
  for (let scope = parents.length - 1; scope > 0; scope -= 1) {
    lower(parents[scope] as number, places[scope] as number);
  }
  return places;
}

function countDescendants(columns: Record<string, Column>): Uint32Array {
  const parents = columns['scope_parent'] as Uint32Array;
  const counts = new Uint32Array(parents.length);
  for (const scope of columns['node_scope'] as Uint32Array) counts[scope] = (counts[scope] as number) + 1;
  for (let scope = parents.length - 1; scope > 0; scope -= 1) {
    const parent = parents[scope] as number;
    counts[parent] = (counts[parent] as number) + (counts[scope] as number);
  }
  return counts;
}

// Items by scope, each scope's in the order in which they are shown.
function gatherChildren(columns: Record<string, Column>): { ends: Uint32Array; children: Uint32Array } {
  const parents = columns['scope_parent'] as Uint32Array;
  const scopes = columns['node_scope'] as Uint32Array;
  const places = firstPlaces(columns);
  const parentOf = (item: number) =>
    (item < parents.length ? parents[item] : scopes[item - parents.length]) as number;
  // Without what does not execute, in that order; the rest follows by number.
  const inOrder = new Uint32Array(places.length);
  const byPlace = new Uint32Array(places.length).fill(NONE);
  const counts = new Uint32Array(parents.length);
  for (let item = 1; item < places.length; item += 1) counts[parentOf(item)]! += 1;
  const ends = new Uint32Array(parents.length);
  let sum = 0;
  counts.forEach((count, scope) => {
    sum += count;
    ends[scope] = sum;
  });
  // Scopes share the place of their first node: outer ones first, which have
  // smaller numbers, and a scope before its nodes.
  let taken = 0;
  const nested = new Map<number, number[]>();
  for (let scope = 1; scope < parents.length; scope += 1) {
    const place = places[scope] as number;
    if (place === NONE) continue;
    const list = nested.get(place);
    if (list === undefined) nested.set(place, [scope]);
    else list.push(scope);
  }
  for (let node = 0; node < scopes.length; node += 1) {
    const place = places[parents.length + node] as number;
    if (place !== NONE) byPlace[place] = parents.length + node;
  }
  for (let place = 0; place < byPlace.length && byPlace[place] !== NONE; place += 1) {
    for (const scope of nested.get(place) ?? []) inOrder[taken++] = scope;
    inOrder[taken++] = byPlace[place] as number;
  }
  for (let item = 1; item < places.length; item += 1) {
    if (places[item] === NONE) inOrder[taken++] = item;
  }
  const next = ends.map((end, scope) => end - (counts[scope] as number));
  const children = new Uint32Array(taken);
  for (let i = 0; i < taken; i += 1) {
    const item = inOrder[i] as number;
    const scope = parentOf(item);
    children[next[scope] as number] = item;
    next[scope] = (next[scope] as number) + 1;
  }
  return { ends, children };
}

export function buildIndex(file: ColumnFile): IndexArrays {
  const { ends, children } = gatherChildren(file.columns);
  return {
    ...file,
    child_end: ends,
    children,
    descendants: countDescendants(file.columns),
  };
}
