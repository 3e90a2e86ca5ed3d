// Scopes that have not executed, in the order in which they were most likely defined.
// They come in parts and each part by name, but parameters come in the order in which
// modules registered them.

import type { Column } from './columns';
import { Texts } from './texts';

const NONE = 0xffffffff;

// By scope: the number of the first node in it, at any depth; NONE: there is none.
function firstNodes(parents: Column, scopes: Column): Uint32Array {
  const first = new Uint32Array(parents.length).fill(NONE);
  for (let node = 0; node < scopes.length; node += 1) {
    for (let scope = scopes[node] as number; first[scope] === NONE; scope = parents[scope] as number) {
      first[scope] = node;
    }
  }
  return first;
}

// Those called by numbers by number; the others by their first node, and what has none
// last, by name.
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
