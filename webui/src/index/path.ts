// The path to a node: the scopes and aggregates that must be open for it to be visible.

import { openName, parseAggregate } from './aggregates';
import type { GraphIndex } from './graph_index';
import { NONE } from './graph_index';
import { modelFolds } from './model_folds';
import { ownerOf } from './model_graph';

// Returns the aggregates of a view that contain the item, outermost first.
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

// Returns the folds of a view that contain the named fold, outermost first.
function foldsAround(index: GraphIndex, view: string, fold: string): string[] {
  const [first] = modelFolds(index).get(fold)?.shown[0]?.items ?? [];
  const folds = first === undefined ? [] : foldsOver(index, view, first);
  return folds.slice(0, Math.max(0, folds.indexOf(fold)));
}

// Returns the names of the views, outermost first, without the node or aggregate itself.
export function pathTo(index: GraphIndex, name: string): string[] {
  const item = index.find(name);
  const owner = item === NONE ? NONE : ownerOf(index, item);
  // A weight is shown inside its op.
  if (owner !== NONE) return pathTo(index, index.name(owner));
  const path: string[] = [];
  let scope = '';
  const segments = name.split('/');
  segments.forEach((segment, depth) => {
    const next = scope === '' ? segment : `${scope}/${segment}`;
    const item = index.find(next);
    if (item !== NONE) path.push(...foldsOver(index, scope, item));
    // A range of an aggregate is shown inside the whole aggregate.
    else if (modelFolds(index).has(next)) path.push(...foldsAround(index, scope, next));
    else if (parseAggregate(next)?.range) path.push(next.replace(/\[\d+:\d+\]$/, '[*]'));
    if (depth < segments.length - 1) path.push(next);
    scope = next;
  });
  return path;
}
