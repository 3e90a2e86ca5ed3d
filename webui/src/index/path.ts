// What must be open for a node to show: the scopes around it, and the aggregates
// that hold them there.

import { openName, parseAggregate } from './aggregates';
import type { GraphIndex } from './graph_index';
import { NONE } from './graph_index';

// The aggregates of one view that lead to the item, outermost first.
function foldsOver(index: GraphIndex, view: string, item: number): string[] {
  const folds: string[] = [];
  let name: string | null = view;
  while (name !== null) {
    const opened = openName(index, name);
    const holder = opened?.shown.find(({ items }) => items.includes(item));
    if (opened === null || holder === undefined || holder.label === '') return folds;
    const scope = index.name(opened.scope);
    name = scope === '' ? holder.label : `${scope}/${holder.label}`;
    folds.push(name);
  }
  return folds;
}

// Names of views from the outermost in, without the node itself; of an aggregate
// those around it.
export function pathTo(index: GraphIndex, name: string): string[] {
  const path: string[] = [];
  let scope = '';
  const segments = name.split('/');
  segments.forEach((segment, depth) => {
    const next = scope === '' ? segment : `${scope}/${segment}`;
    const item = index.find(next);
    if (item !== NONE) path.push(...foldsOver(index, scope, item));
    // A range of an aggregate lies in the whole of it.
    else if (parseAggregate(next)?.range) path.push(next.replace(/\[\d+:\d+\]$/, '[*]'));
    if (depth < segments.length - 1) path.push(next);
    scope = next;
  });
  return path;
}
