// Views of the graph by source line: files contain lines, which contain nodes.

import type { GraphNode, ScopeView } from '../api/types';
import { fileName } from '../base/names';
import * as counts from '../words/counts';
import { sourceLine } from '../words/graph';
import type { Watched } from './coverage';
import type { GraphIndex } from './graph_index';
import { NONE } from './graph_index';
import { nodeOf } from './scope_view';

// Cannot be names of nodes, which have no empty segments.
const FILE = '//file:';
const LINE = '//line:';

export const isSourceGroup = (name: string) => name.startsWith(FILE) || name.startsWith(LINE);

// By file and line: items in order.
type Groups = Map<number, Map<number, number[]>>;

const grouped = new WeakMap<GraphIndex, Groups>();

function groupsOf(index: GraphIndex): Groups {
  const known = grouped.get(index);
  if (known !== undefined) return known;
  const groups: Groups = new Map();
  for (let node = 0; node < index.nodeCount; node += 1) {
    const file = index.nodeFile[node] as number;
    if (file === 0) continue;
    const line = index.nodeLine[node] as number;
    let lines = groups.get(file);
    if (lines === undefined) groups.set(file, (lines = new Map()));
    const items = lines.get(line);
    if (items === undefined) lines.set(line, [index.scopeCount + node]);
    else items.push(index.scopeCount + node);
  }
  grouped.set(index, groups);
  return groups;
}

function group(name: string, label: string, children: number, items: readonly number[], watched: Watched | null): GraphNode {
  const states = new Set(items.map((item) => watched?.of(item) ?? 'none'));
  return {
    name,
    label,
    kind: 'scope',
    op_type: counts.nodes(items.length),
    category: 'other',
    child_count: children,
    descendant_count: items.length,
    outputs: [],
    hit_count: 0,
    watched: states.size === 1 ? ([...states][0] ?? 'none') : 'some',
    source: null,
  };
}

// Returns the groups that contain a node, outermost first; none if its source line is unknown.
export function sourcePath(index: GraphIndex, name: string): string[] {
  const item = index.find(name);
  if (item === NONE || index.isScope(item)) return [];
  const file = index.nodeFile[item - index.scopeCount] as number;
  if (file === 0) return [];
  return [`${FILE}${file}`, `${LINE}${file}:${index.nodeLine[item - index.scopeCount]}`];
}

// Returns the lines of a file that have nodes, in order.
export function linesOf(index: GraphIndex, file: string): number[] {
  for (const [text, lines] of groupsOf(index)) {
    if (index.texts.at(text) === file) return [...lines.keys()].sort((a, b) => a - b);
  }
  return [];
}

// Returns all lines as "FILE:LINE".
export function placesOf(index: GraphIndex): string[] {
  return [...groupsOf(index)].flatMap(([file, lines]) => {
    const path = index.texts.at(file);
    return [...lines.keys()].map((line) => `${path}:${line}`);
  });
}

// Adds the number of hits of each group to those of the nodes.
export function sourceHits(index: GraphIndex, hits: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const all = new Map(hits);
  for (const [name, count] of hits) {
    for (const holder of sourcePath(index, name)) all.set(holder, (all.get(holder) ?? 0) + count);
  }
  return all;
}

// The length of the scopes at the beginning of all paths.
function commonScope(paths: readonly string[]): number {
  const [first = '', ...others] = paths;
  let end = first.lastIndexOf('/') + 1;
  while (end > 0 && others.some((path) => !path.startsWith(first.slice(0, end)))) end = first.lastIndexOf('/', end - 2) + 1;
  return end;
}

export class SourceViews extends Map<string, ScopeView> {
  constructor(
    private readonly index: GraphIndex,
    private readonly watched: Watched | null,
    // Source code by "FILE:LINE", where known.
    private readonly code: ReadonlyMap<string, string> = new Map(),
  ) {
    super();
  }

  override get(name: string): ScopeView | undefined {
    const known = super.get(name);
    if (known !== undefined) return known;
    const nodes = this.nodesOf(name);
    if (nodes === null) return undefined;
    const view: ScopeView = { scope: name, nodes, edges: [] };
    super.set(name, view);
    return view;
  }

  override has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  private nodesOf(name: string): GraphNode[] | null {
    const groups = groupsOf(this.index);
    if (name === '') {
      return [...groups].map(([file, lines]) => {
        const items = [...lines.values()].flat();
        return group(`${FILE}${file}`, fileName(this.index.texts.at(file)), lines.size, items, this.watched);
      });
    }
    if (name.startsWith(FILE)) {
      const file = Number(name.slice(FILE.length));
      const lines = [...(groups.get(file) ?? [])].sort((a, b) => a[0] - b[0]);
      const path = this.index.texts.at(file);
      return lines.map(([line, items]) => {
        const code = this.code.get(`${path}:${line}`);
        const label = code === undefined ? sourceLine(line) : `${line}  ${code.trim()}`;
        return group(`${LINE}${file}:${line}`, label, items.length, items, this.watched);
      });
    }
    if (!name.startsWith(LINE)) return null;
    const [file, line] = name.slice(LINE.length).split(':').map(Number) as [number, number];
    const nodes = (groups.get(file)?.get(line) ?? []).map((item) => nodeOf(this.index, item, this.watched));
    // Away from its scope the label alone is ambiguous. The phase, which is the first segment, is
    // shown by colour.
    const paths = nodes.map(({ name }) => name.slice(name.indexOf('/') + 1));
    const shared = commonScope(paths);
    return nodes.map((node, i) => ({ ...node, label: paths[i]?.slice(shared) ?? node.label }));
  }
}
