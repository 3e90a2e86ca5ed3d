// Builds a graph index for tests. `types` has the classes of modules by the names of their scopes.

import type { Column } from '../index/columns';
import { buildIndex, GraphIndex, NONE } from '../index/graph_index';
import type { Category, NodeKind } from '../api/types';

export interface SampleNode {
  name: string;
  inputs?: string[];
  kind?: NodeKind;
  category?: Category;
  op_type?: string;
  output?: string;
  source?: [string, number];
}

const KINDS = ['scope', 'op', 'parameter', 'buffer', 'constant', 'input', 'aggregate'];
const CATEGORIES = ['other', 'weight', 'gradient', 'activation', 'optimizer'];

export function sampleIndex(nodes: readonly SampleNode[], types: Record<string, string> = {}): GraphIndex {
  const texts = new Map([['', 0]]);
  const text = (value: string) => {
    const known = texts.get(value) ?? texts.size;
    texts.set(value, known);
    return known;
  };
  const scopes = [''];
  const parents = [0];
  const scopeOf = (name: string): number => {
    const cut = name.lastIndexOf('/');
    const scope = cut < 0 ? '' : name.slice(0, cut);
    const known = scopes.indexOf(scope);
    if (known >= 0) return known;
    const parent = scopeOf(scope);
    parents.push(parent);
    return scopes.push(scope) - 1;
  };
  for (const scope of Object.keys(types)) scopeOf(`${scope}/`);
  const label = (name: string) => text(name.slice(name.lastIndexOf('/') + 1));
  const u32 = (values: Iterable<number>) => Uint32Array.from(values);
  const each = (value: (node: SampleNode, place: number) => number) => u32(nodes.map(value));
  const place = new Map(nodes.map((node, i) => [node.name, i]));
  let end = 0;
  const columns: Record<string, Column> = {
    node_scope: each((node) => scopeOf(node.name)),
    node_label: each((node) => label(node.name)),
    node_kind: Uint8Array.from(nodes, (node) => KINDS.indexOf(node.kind ?? 'op')),
    node_category: Uint8Array.from(nodes, (node) => CATEGORIES.indexOf(node.category ?? 'other')),
    node_op_type: each((node) => text(node.op_type ?? '')),
    node_forward: each(() => NONE),
    node_output: each((node) => text(node.output ?? '')),
    node_output_count: Uint8Array.from(nodes, (node) => (node.output === undefined ? 0 : 1)),
    node_file: each((node) => text(node.source?.[0] ?? '')),
    node_line: each((node) => node.source?.[1] ?? 0),
    edge_end: each((node) => (end += node.inputs?.length ?? 0)),
    edge_back: u32(
      nodes.flatMap((node, to) => (node.inputs ?? []).map((input) => (to - (place.get(input) as number)) >>> 0)),
    ),
    edge_slot: new Uint32Array(end),
    edge_control: new Uint8Array(end),
    execution: u32([...nodes.keys()].filter((i) => (nodes[i]?.kind ?? 'op') === 'op')),
  };
  columns['scope_parent'] = u32(parents);
  columns['scope_label'] = u32(scopes.map(label));
  columns['scope_type'] = u32(scopes.map((scope) => text(types[scope] ?? '')));
  const bytes = Array.from(texts.keys(), (value) => new TextEncoder().encode(value));
  let at = 0;
  columns['string_end'] = u32(bytes.map((value) => (at += value.length)));
  columns['string_bytes'] = Uint8Array.from(bytes.flatMap((value) => [...value]));
  return new GraphIndex(buildIndex({ kinds: KINDS, categories: CATEGORIES, columns }));
}
