// Builds the rows of the tree, in order, each with its position among its siblings.

import type { GraphNode, ScopeView } from '../api/types';
import { canOpen } from '../graph/scene';

export interface TreeRow {
  name: string;
  node: GraphNode;
  // Counted from 1.
  level: number;
  position: number;
  siblings: number;
  // Null if the node has no children.
  open: boolean | null;
  // The state of an open scope whose children have not been loaded.
  note: 'loading' | 'failed' | null;
  // The scope around it is watched completely.
  implied: boolean;
}

export function buildRows(
  open: ReadonlySet<string>,
  views: ReadonlyMap<string, ScopeView>,
  errors: ReadonlyMap<string, string>,
): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (scope: string, level: number, implied: boolean) => {
    const nodes = views.get(scope)?.nodes ?? [];
    const siblings = nodes.length;
    for (let i = 0; i < siblings; i += 1) {
      const node = nodes[i] as GraphNode;
      const { name } = node;
      const isOpen = canOpen(node) ? open.has(name) : null;
      const unknown = isOpen === true && !views.has(name);
      const note = !unknown ? null : errors.has(name) ? 'failed' : 'loading';
      rows.push({ name, node, level, position: i + 1, siblings, open: isOpen, note, implied });
      if (isOpen === true) add(name, level + 1, node.watched === 'all');
    }
  };
  add('', 1, false);
  return rows;
}

export type TreeAction =
  | { kind: 'focus'; index: number }
  | { kind: 'toggle'; name: string }
  | { kind: 'select'; name: string };

function parentIndex(rows: readonly TreeRow[], index: number): number {
  const level = rows[index]?.level ?? 1;
  for (let i = index - 1; i >= 0; i -= 1) {
    if ((rows[i]?.level ?? 1) < level) return i;
  }
  return index;
}

// The next row after `index`, wrapping around, whose label starts with `typed`.
export function typeAhead(rows: readonly TreeRow[], index: number, typed: string): number {
  const wanted = typed.toLowerCase();
  // A longer prefix may still match the current row.
  const first = typed.length > 1 ? 0 : 1;
  for (let i = first; i < rows.length + first; i += 1) {
    const at = (index + i) % rows.length;
    if (rows[at]?.node.label.toLowerCase().startsWith(wanted)) return at;
  }
  return index;
}

// The action of a key in a tree view, by the ARIA Authoring Practices; null for other keys.
export function treeKey(
  rows: readonly TreeRow[],
  index: number,
  key: string,
  page = 10,
): TreeAction | null {
  const row = rows[index];
  if (row === undefined) return null;
  const focus = (to: number): TreeAction => ({
    kind: 'focus',
    index: Math.min(rows.length - 1, Math.max(0, to)),
  });
  switch (key) {
    case 'ArrowDown':
      return focus(index + 1);
    case 'ArrowUp':
      return focus(index - 1);
    case 'PageDown':
      return focus(index + page);
    case 'PageUp':
      return focus(index - page);
    case 'Home':
      return focus(0);
    case 'End':
      return focus(rows.length - 1);
    case 'ArrowRight':
      if (row.open === null) return null;
      if (!row.open) return { kind: 'toggle', name: row.name };
      return rows[index + 1]?.level === row.level + 1 ? focus(index + 1) : null;
    case 'ArrowLeft':
      return row.open === true ? { kind: 'toggle', name: row.name } : focus(parentIndex(rows, index));
    case 'Enter':
    case ' ':
      return { kind: 'select', name: row.name };
    default:
      return null;
  }
}
