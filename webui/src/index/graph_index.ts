// A whole graph in typed arrays, without an object per node: names, ordered children and counts.
// Scopes and nodes are "items". Scopes are numbered first, so a node's number is
// item - scopeCount.

import type { Category, NodeKind } from '../api/types';
import { missingColumn } from '../words/graph';
import type { ColumnFile, Column } from './columns';
import { inDefinitionOrder } from './definition_order';
import { fileName } from '../base/names';
import { Texts } from './texts';

export const NONE = 0xffffffff;

export interface IndexArrays {
  kinds: string[];
  categories: string[];
  columns: Record<string, Column>;
  // By scope: the end of its children in `children`. Children are in execution order; those that
  // have not executed follow in definition order.
  child_end: Uint32Array;
  children: Uint32Array;
  // By scope: number of nodes in it, at any depth.
  descendants: Uint32Array;
}

export class GraphIndex {
  readonly scopeCount: number;
  readonly nodeCount: number;
  readonly texts: Texts;
  // Columns of the file by node.
  readonly nodeScope: Column;
  readonly nodeLabel: Column;
  readonly nodeKind: Column;
  readonly nodeCategory: Column;
  readonly nodeOpType: Column;
  readonly nodeOutput: Column;
  readonly nodeOutputCount: Column;
  readonly nodeFile: Column;
  readonly nodeLine: Column;
  readonly edgeEnd: Column;
  // Columns by scope and by edge.
  readonly scopeParent: Column;
  readonly edgeBack: Column;
  readonly edgeControl: Column;
  private readonly scopeLabel: Column;
  private readonly scopeType: Column;
  private readonly scopeNames: string[] = [''];
  // By scope: its children by label, filled on first use.
  private readonly byLabel = new Map<number, Map<string, number>>();

  constructor(readonly arrays: IndexArrays) {
    const column = (name: string): Column => {
      const found = arrays.columns[name];
      if (found === undefined) throw new Error(missingColumn(name));
      return found;
    };
    this.scopeParent = column('scope_parent');
    this.scopeLabel = column('scope_label');
    this.scopeType = column('scope_type');
    this.nodeScope = column('node_scope');
    this.nodeLabel = column('node_label');
    this.nodeKind = column('node_kind');
    this.nodeCategory = column('node_category');
    this.nodeOpType = column('node_op_type');
    this.nodeOutput = column('node_output');
    this.nodeOutputCount = column('node_output_count');
    this.nodeFile = column('node_file');
    this.nodeLine = column('node_line');
    this.edgeEnd = column('edge_end');
    this.edgeBack = column('edge_back');
    this.edgeControl = column('edge_control');
    this.scopeCount = this.scopeParent.length;
    this.nodeCount = this.nodeScope.length;
    this.texts = new Texts(
      column('string_end') as Uint32Array,
      column('string_bytes') as Uint8Array<ArrayBuffer>,
    );
  }

  isScope(item: number): boolean {
    return item < this.scopeCount;
  }

  label(item: number): string {
    const text = this.isScope(item) ? this.scopeLabel[item] : this.nodeLabel[item - this.scopeCount];
    return this.texts.at(text as number);
  }

  // The scope that contains the item. The top scope is its own parent.
  parent(item: number): number {
    return (this.isScope(item) ? this.scopeParent[item] : this.nodeScope[item - this.scopeCount]) as number;
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
      // If a scope and a node have the same name, the scope takes precedence: it can be opened.
      for (const child of this.childrenOf(scope)) {
        const text = this.label(child);
        if (!labels.has(text) || this.isScope(child)) labels.set(text, child);
      }
      this.byLabel.set(scope, labels);
    }
    return labels.get(label) ?? NONE;
  }

  // Returns the scope of that name, or NONE. Ignores nodes.
  findScope(name: string): number {
    let scope = 0;
    if (name === '') return scope;
    for (const label of name.split('/')) {
      const found = this.childrenOf(scope).find((child) => this.isScope(child) && this.label(child) === label);
      if (found === undefined) return NONE;
      scope = found;
    }
    return scope;
  }

  // Returns the item of that name, or NONE. The top scope is "".
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
    const kind = this.nodeKind[item - this.scopeCount] as number;
    return (this.arrays.kinds[kind] ?? 'op') as NodeKind;
  }

  category(item: number): Category {
    if (this.isScope(item)) return 'other';
    const category = this.nodeCategory[item - this.scopeCount] as number;
    return (this.arrays.categories[category] ?? 'other') as Category;
  }

  // For a scope, the class of its module.
  opType(item: number): string {
    return this.texts.at(this.opTypeText(item));
  }

  // The same as a number of `texts`.
  opTypeText(item: number): number {
    return (this.isScope(item) ? this.scopeType[item] : this.nodeOpType[item - this.scopeCount]) as number;
  }

  // What a breakpoint or a watchpoint on ops like this one needs; null if the name is no op's.
  opFacts(name: string): { type: string; source: string; place: string } | null {
    const item = this.find(name);
    if (item === NONE || this.kind(item) !== 'op') return null;
    const node = item - this.scopeCount;
    const type = this.opType(item);
    const file = this.texts.at(this.nodeFile[node] as number);
    const line = this.nodeLine[node] as number;
    return {
      type: type.slice(type.lastIndexOf(':') + 1),
      source: file === '' ? '' : `${file}:${line}`,
      place: `${fileName(file)}:${line}`,
    };
  }

  descendants(item: number): number {
    return this.isScope(item) ? (this.arrays.descendants[item] as number) : 1;
  }
}

// By item: its first position in the execution order, or NONE if it has not executed.
export function firstPlaces(columns: Record<string, Column>): Uint32Array {
  const parents = columns['scope_parent'] as Uint32Array;
  const scopes = columns['node_scope'] as Uint32Array;
  const execution = columns['execution'] as Uint32Array;
  const count = parents.length;
  const places = new Uint32Array(count + scopes.length).fill(NONE);
  for (let place = 0; place < execution.length; place += 1) {
    const node = execution[place] as number;
    places[count + node] = place;
    const scope = scopes[node] as number;
    if (place < (places[scope] as number)) places[scope] = place;
  }
  // Parents have smaller numbers than their children.
  for (let scope = count - 1; scope > 0; scope -= 1) {
    const parent = parents[scope] as number;
    if ((places[scope] as number) < (places[parent] as number)) places[parent] = places[scope] as number;
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

// All items except the top scope in display order: by execution, with a scope directly before its
// first node, followed by the items that have not executed.
function inOrder(columns: Record<string, Column>): Uint32Array {
  const scopes = (columns['scope_parent'] as Column).length;
  const places = firstPlaces(columns);
  const order = new Uint32Array(places.length - 1);
  // By position: the node that executes there, and a linked list of the scopes that start with it.
  // Outer scopes have smaller numbers, so they come first.
  const nodeAt = new Int32Array(places.length).fill(-1);
  const scopeAt = new Int32Array(places.length).fill(-1);
  const nextScope = new Int32Array(scopes).fill(-1);
  for (let scope = scopes - 1; scope > 0; scope -= 1) {
    const place = places[scope] as number;
    if (place === NONE) continue;
    nextScope[scope] = scopeAt[place] as number;
    scopeAt[place] = scope;
  }
  for (let item = scopes; item < places.length; item += 1) {
    const place = places[item] as number;
    if (place !== NONE) nodeAt[place] = item;
  }
  let taken = 0;
  for (let place = 0; place < places.length && (nodeAt[place] as number) >= 0; place += 1) {
    for (let scope = scopeAt[place] as number; scope >= 0; scope = nextScope[scope] as number) order[taken++] = scope;
    order[taken++] = nodeAt[place] as number;
  }
  const idle: number[] = [];
  for (let scope = 1; scope < scopes; scope += 1) if (places[scope] === NONE) idle.push(scope);
  for (const scope of inDefinitionOrder(idle, columns)) order[taken++] = scope;
  for (let item = scopes; item < places.length; item += 1) {
    if (places[item] === NONE) order[taken++] = item;
  }
  return order;
}

// Groups the items by scope, each scope's in display order.
function gatherChildren(columns: Record<string, Column>): { ends: Uint32Array; children: Uint32Array } {
  const parents = columns['scope_parent'] as Uint32Array;
  const scopes = columns['node_scope'] as Uint32Array;
  const count = parents.length;
  const ends = new Uint32Array(count);
  for (let scope = 1; scope < count; scope += 1) ends[parents[scope] as number]! += 1;
  for (let node = 0; node < scopes.length; node += 1) ends[scopes[node] as number]! += 1;
  const next = new Uint32Array(count);
  let sum = 0;
  for (let scope = 0; scope < count; scope += 1) {
    next[scope] = sum;
    sum += ends[scope] as number;
    ends[scope] = sum;
  }
  const order = inOrder(columns);
  const children = new Uint32Array(order.length);
  for (let i = 0; i < order.length; i += 1) {
    const item = order[i] as number;
    const scope = (item < count ? parents[item] : scopes[item - count]) as number;
    const place = next[scope] as number;
    children[place] = item;
    next[scope] = place + 1;
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
