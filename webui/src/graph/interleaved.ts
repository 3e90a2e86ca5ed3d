// Scopes that execute in turns with their siblings, such as a list of layers whose activations are
// outside: layer 0, sigmoid, layer 1, sigmoid_1. As one box they would hide that order, so while they
// are open, their children are drawn among the siblings.

import type { ScopeView } from '../api/types';

const known = new WeakMap<ScopeView, ReadonlySet<string>>();

// The scopes of a view that are on a cycle of its edges.
export function interleavedOf(view: ScopeView): ReadonlySet<string> {
  let found = known.get(view);
  if (found === undefined) known.set(view, (found = find(view)));
  return found;
}

function find({ scope, nodes, edges }: ScopeView): ReadonlySet<string> {
  const found = new Set<string>();
  // Forward, backward and optimizer stay apart.
  if (scope === '') return found;
  const place = new Map(nodes.map(({ name }, i) => [name, i]));
  const readers: number[][] = nodes.map(() => []);
  for (const { from, to } of edges) {
    const [a, b] = [place.get(from), place.get(to)];
    if (a !== undefined && b !== undefined && a !== b) readers[a]?.push(b);
  }
  for (const cycle of cyclesOf(readers)) {
    for (const at of cycle) {
      const node = nodes[at];
      if (node?.kind === 'scope' && node.child_count > 0) found.add(node.name);
    }
  }
  return found;
}

// The strongly connected components with several nodes (Tarjan's algorithm, without recursion).
function cyclesOf(readers: readonly number[][]): number[][] {
  const order = new Int32Array(readers.length).fill(-1);
  const low = new Int32Array(readers.length);
  const next = new Int32Array(readers.length);
  const onStack = new Uint8Array(readers.length);
  const stack: number[] = [];
  const cycles: number[][] = [];
  let count = 0;
  const enter = (node: number) => {
    order[node] = low[node] = count++;
    onStack[node] = 1;
    stack.push(node);
  };
  const lower = (node: number, to: number) => {
    if (to < (low[node] as number)) low[node] = to;
  };
  for (let root = 0; root < readers.length; root += 1) {
    if (order[root] !== -1) continue;
    const path = [root];
    enter(root);
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const edge = next[node] as number;
      next[node] = edge + 1;
      const to = readers[node]?.[edge];
      if (to !== undefined) {
        if (order[to] === -1) {
          enter(to);
          path.push(to);
        } else if (onStack[to] === 1) lower(node, order[to] as number);
        continue;
      }
      path.pop();
      const parent = path.at(-1);
      if (parent !== undefined) lower(parent, low[node] as number);
      if (low[node] !== order[node]) continue;
      const component = stack.splice(stack.lastIndexOf(node));
      for (const each of component) onStack[each] = 0;
      if (component.length > 1) cycles.push(component);
    }
  }
  return cycles;
}
