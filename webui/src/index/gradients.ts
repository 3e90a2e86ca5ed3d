// Which node computes the gradient of a parameter. Backward ops are in the scope of the module, so it
// is the last of them whose output has the parameter's type and shape.

import { NONE, type GraphIndex } from './graph_index';

export type Gradient =
  // The backward pass computes it.
  | { state: 'computed'; node: string }
  // The backward pass has run and has not computed it.
  | { state: 'none' }
  // No backward pass has run, or several parameters of the module have that shape.
  | { state: 'unknown' };

const FORWARD = 'forward/';
const UNKNOWN: Gradient = { state: 'unknown' };

export function gradientOf(index: GraphIndex, parameter: string): Gradient {
  const item = index.find(parameter);
  if (item === NONE || index.isScope(item) || index.kind(item) !== 'parameter' || !parameter.startsWith(FORWARD)) return UNKNOWN;
  if (index.findScope('backward') === NONE) return UNKNOWN;
  const output = (other: number) => index.nodeOutput[other - index.scopeCount];
  const alike = (scope: number) =>
    [...index.childrenOf(scope)].filter((child) => !index.isScope(child) && output(child) === output(item));
  const module = parameter.slice(FORWARD.length, parameter.lastIndexOf('/'));
  const backward = index.findScope(`backward/${module}`);
  const found = backward === NONE ? undefined : alike(backward).at(-1);
  if (found === undefined) return { state: 'none' };
  const rivals = alike(index.parent(item)).filter((other) => index.kind(other) === 'parameter');
  return rivals.length > 1 ? UNKNOWN : { state: 'computed', node: index.name(found) };
}
