// Aggregates: many similar siblings shown as one. Rules and names match the server's
// `scope?aggregate=N`, so that an address works with and without the index.

import type { GraphIndex } from './graph_index';
import { NONE } from './graph_index';
import { modelFolds } from './model_folds';
import { childrenShown, modelGraphOf } from './model_graph';
import type { Opened, Shown } from './shown';

// More children than this whose labels differ only in a number form an aggregate.
export const AGGREGATE_ABOVE = 24;
// A larger aggregate is divided into ranges of this size.
const RANGE = 1000;

// Removes the number of a label. "relu__1" is the second "relu_", an in-place op.
export function stemOf(label: string): string {
  let end = label.length;
  while (end > 0 && label.charCodeAt(end - 1) >= 48 && label.charCodeAt(end - 1) <= 57) end -= 1;
  if (end === label.length) return label;
  return label.slice(0, label[end - 1] === '_' ? end - 1 : end);
}

export interface AggregateName {
  scope: string;
  stem: string;
  // Null for all members.
  range: [number, number] | null;
}

// Parses "SCOPE/STEM[*]" or "SCOPE/STEM[1000:2000]"; returns null for other names.
export function parseAggregate(name: string): AggregateName | null {
  const match = /^(?:(.*)\/)?([^/]*)\[(?:\*|(\d+):(\d+))\]$/s.exec(name);
  if (match === null) return null;
  const range: [number, number] | null =
    match[3] === undefined ? null : [Number(match[3]), Number(match[4])];
  if (range !== null && range[0] >= range[1]) return null;
  return { scope: match[1] ?? '', stem: match[2] ?? '', range };
}

const single = (item: number): Shown => ({ items: [item], label: '' });

// Children of a scope whose labels have the same stem, in their order.
interface Group {
  // Position of the first member among all children.
  first: number;
  items: number[];
}

interface Groups {
  byStem: Map<string, Group>;
  // By position of a child.
  of: Group[];
}

// Cached, because some scopes have many thousand children that are opened range by range.
const groupsOfIndex = new WeakMap<GraphIndex, Map<number, Groups>>();

function groupsOf(index: GraphIndex, scope: number): Groups {
  let scopes = groupsOfIndex.get(index);
  if (scopes === undefined) groupsOfIndex.set(index, (scopes = new Map()));
  let groups = scopes.get(scope);
  if (groups === undefined) scopes.set(scope, (groups = makeGroups(index, scope)));
  return groups;
}

function makeGroups(index: GraphIndex, scope: number): Groups {
  const groups: Groups = { byStem: new Map(), of: [] };
  const children = index.childrenOf(scope);
  for (let place = 0; place < children.length; place += 1) {
    const child = children[place] as number;
    const stem = stemOf(index.label(child));
    let group = groups.byStem.get(stem);
    if (group === undefined) groups.byStem.set(stem, (group = { first: place, items: [] }));
    group.items.push(child);
    groups.of.push(group);
  }
  return groups;
}

function aggregated(index: GraphIndex, scope: number, above: number): Shown[] {
  const children = index.childrenOf(scope);
  if (modelGraphOf(index) !== null) return Array.from(childrenShown(index, scope), single);
  if (children.length <= above) return Array.from(children, single);
  const shown: Shown[] = [];
  groupsOf(index, scope).of.forEach(({ first, items }, place) => {
    const child = children[place] as number;
    if (items.length <= above || !alike(index, items)) shown.push(single(child));
    else if (place === first) shown.push({ items, label: `${stemOf(index.label(child))}[*]` });
  });
  return shown;
}

// More than this are folded however different they are: each as a box could not be read.
const ALWAYS_FOLDED = 200;
const alikeOfIndex = new WeakMap<number[], boolean>();

// Whether siblings may be shown as one box: ops of one type that do not feed each other.
function alike(index: GraphIndex, items: number[]): boolean {
  let known = alikeOfIndex.get(items);
  if (known === undefined) alikeOfIndex.set(items, (known = items.length > ALWAYS_FOLDED || areAlike(index, items)));
  return known;
}

function areAlike(index: GraphIndex, items: readonly number[]): boolean {
  const [first] = items as [number];
  if (index.isScope(first)) return true;
  const members = new Set(items);
  return items.every((item) => {
    if (index.isScope(item) || index.opTypeText(item) !== index.opTypeText(first)) return false;
    const node = item - index.scopeCount;
    for (let edge = node === 0 ? 0 : (index.edgeEnd[node - 1] as number); edge < (index.edgeEnd[node] as number); edge += 1) {
      if (members.has(((node - (index.edgeBack[edge] as number)) >>> 0) + index.scopeCount)) return false;
    }
    return true;
  });
}

function openAggregate(index: GraphIndex, scope: number, name: AggregateName): Shown[] {
  const members = groupsOf(index, scope).byStem.get(name.stem)?.items ?? [];
  if (name.range !== null) return members.slice(...name.range).map(single);
  if (members.length <= RANGE) return members.map(single);
  const shown: Shown[] = [];
  for (let at = 0; at < members.length; at += RANGE) {
    shown.push({ items: members.slice(at, at + RANGE), label: `${name.stem}[${at}:${at + RANGE}]` });
  }
  return shown;
}

const cache = new WeakMap<GraphIndex, Map<string, Opened | null>>();

// Returns the children of a scope or an aggregate, or null if none has that name.
export function openName(index: GraphIndex, name: string): Opened | null {
  let known = cache.get(index);
  if (known === undefined) cache.set(index, (known = new Map()));
  let opened = known.get(name);
  if (opened === undefined) known.set(name, (opened = openUncached(index, name)));
  return opened;
}

function openUncached(index: GraphIndex, name: string): Opened | null {
  const folded = modelFolds(index).get(name);
  if (folded !== undefined) return folded;
  const item = index.findScope(name);
  if (item !== NONE) return { scope: item, shown: aggregated(index, item, AGGREGATE_ABOVE) };
  const aggregate = parseAggregate(name);
  if (aggregate === null) return null;
  const scope = index.findScope(aggregate.scope);
  if (scope === NONE) return null;
  const shown = openAggregate(index, scope, aggregate);
  return shown.length === 0 ? null : { scope, shown };
}
