// The most likely order of definition of scopes that have not executed. Modules are sent in parts,
// each sorted by name, but parameters are in the order in which modules registered them.

import type { Column } from './columns';
import { Texts } from './texts';

const NONE = 0xffffffff;

// By scope: the number of the first node in it, at any depth, or NONE.
function firstNodes(parents: Column, scopes: Column): Uint32Array {
  const first = new Uint32Array(parents.length).fill(NONE);
  for (let node = 0; node < scopes.length; node += 1) {
    for (let scope = scopes[node] as number; first[scope] === NONE; scope = parents[scope] as number) {
      first[scope] = node;
    }
  }
  return first;
}

// Scopes with numeric labels come first, by number; then the others by their first node; last
// those without nodes, by name.
export function inDefinitionOrder(scopes: readonly number[], columns: Record<string, Column>): number[] {
  if (scopes.length < 2) return [...scopes];
  const first = firstNodes(columns['scope_parent'] as Column, columns['node_scope'] as Column);
  const texts = new Texts(columns['string_end'] as Uint32Array, columns['string_bytes'] as Uint8Array<ArrayBuffer>);
  const labels = columns['scope_label'] as Column;
  const keys = scopes.map((scope) => {
    const label = texts.at(labels[scope] as number);
    const number = /^\d{1,9}$/.test(label) ? Number(label) : null;
    return { scope, label, kind: number === null ? 1 : 0, place: number ?? (first[scope] as number) };
  });
  keys.sort((a, b) => a.kind - b.kind || a.place - b.place || (a.label < b.label ? -1 : a.label > b.label ? 1 : a.scope - b.scope));
  return keys.map(({ scope }) => scope);
}
