// Computes which nodes watchpoints cover, by the same rules as the server
// (agent/conditions/selector.cc), so that a change is visible immediately.

import type { Category, NodeLists, WatchLists } from '../api/types';
import type { GraphIndex } from './graph_index';
import { NONE } from './graph_index';

export type WatchSelection = Omit<WatchLists, 'ranks'> & {
  // The only category that the condition applies to; null for all categories.
  target: Category | null;
  // The condition applies to ops only.
  ops_only?: boolean;
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

// RE2 knows forms that browsers do not; the page then shows no coverage by them.
function regexOf(text: string): RegExp | null {
  try {
    return new RegExp(text, 'is');
  } catch {
    return null;
  }
}

const empty = (list: readonly unknown[] | undefined) => list === undefined || list.length === 0;

const namesNothing = (lists: NodeLists) =>
  [lists.nodes, lists.scopes, lists.patterns, lists.regexes, lists.categories].every(empty);

// "conv2d" also means "aten::conv2d".
function isOpType(type: string, wanted: string): boolean {
  const [own, other] = [type.toLowerCase(), wanted.toLowerCase()];
  return own === other || own.endsWith(`::${other}`);
}

function isAt(path: string, line: number, wanted: string): boolean {
  const [, file = wanted, at] = /^(.*?)(?::(\d+))?$/s.exec(wanted) ?? [];
  if (at !== undefined && Number(at) !== 0 && Number(at) !== line) return false;
  return path !== '' && (path === file || path.endsWith(file.startsWith('/') ? file : `/${file}`));
}

type Test = (item: number) => boolean;

// The lists of a selection, prepared for the items of a graph. Each test is true if an entry fits.
function prepare(index: GraphIndex, lists: NodeLists): Record<'names' | 'type' | 'source' | 'dtype', Test> {
  const nodes = new Set((lists.nodes ?? []).map((name) => index.find(name)));
  const below = belowScopes(index, lists.scopes ?? []);
  const shapes = [...(lists.patterns ?? []).map(patternOf), ...(lists.regexes ?? []).map(regexOf)];
  const node = (item: number) => item - index.scopeCount;
  const text = (column: ArrayLike<number>, item: number) => index.texts.at(column[node(item)] as number);
  return {
    names: (item) =>
      nodes.has(item) ||
      (lists.categories ?? []).includes(index.category(item)) ||
      below[index.parent(item)] === 1 ||
      shapes.some((shape) => shape?.test(index.name(item)) === true),
    type: (item) => (lists.op_types ?? []).some((wanted) => isOpType(index.opType(item), wanted)),
    source: (item) =>
      (lists.sources ?? []).some((wanted) => isAt(text(index.nodeFile, item), index.nodeLine[node(item)] ?? 0, wanted)),
    // The index has the first output only.
    dtype: (item) => {
      const output = text(index.nodeOutput, item);
      return output === '' || (lists.dtypes ?? []).some((dtype) => output.startsWith(`${dtype}[`));
    },
  };
}

function cover(index: GraphIndex, selection: WatchSelection, covered: Uint8Array): void {
  const { target, ops_only: opsOnly, exclude } = selection;
  const test = prepare(index, selection);
  const except = exclude === undefined ? null : prepare(index, exclude);
  const any = namesNothing(selection);
  const needed = [
    ...(any ? [] : [test.names]),
    ...(empty(selection.op_types) ? [] : [test.type]),
    ...(empty(selection.sources) ? [] : [test.source]),
    ...(empty(selection.dtypes) ? [] : [test.dtype]),
  ];
  const fits = (item: number) =>
    (target === null || target === index.category(item)) &&
    (opsOnly !== true || index.kind(item) === 'op') &&
    needed.every((each) => each(item)) &&
    (except === null || !(except.names(item) || except.type(item) || except.source(item)));
  const { nodes, scopes, patterns, categories, regexes } = selection;
  const onlyListed = nodes.length > 0 && [scopes, patterns, categories, regexes].every(empty);
  if (onlyListed) {
    for (const name of nodes) {
      const item = index.find(name);
      if (item !== NONE && !index.isScope(item) && fits(item)) covered[item - index.scopeCount] = 1;
    }
    return;
  }
  for (let node = 0; node < index.nodeCount; node += 1) {
    covered[node] ||= Number(fits(node + index.scopeCount));
  }
}

// The same test for one node, whose name and category only are known: false for a selection that
// asks for more.
export function coversNode(selection: WatchSelection, name: string, category: Category): boolean {
  const { nodes, scopes, patterns, categories, regexes, target, op_types, sources, dtypes, exclude } = selection;
  if (![op_types, sources, dtypes, ...Object.values(exclude ?? {})].every(empty)) return false;
  if (target !== null && target !== category) return false;
  return (
    namesNothing(selection) ||
    nodes.includes(name) ||
    categories.includes(category) ||
    scopes.some((scope) => name.startsWith(`${scope}/`)) ||
    patterns.some((pattern) => patternOf(pattern).test(name)) ||
    (regexes ?? []).some((regex) => regexOf(regex)?.test(name) === true)
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
