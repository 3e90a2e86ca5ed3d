// Nodes selected with check boxes. A checked scope includes everything in it, now and later, so
// nothing inside a checked scope is listed itself.

import type { GraphNode } from '../api/types';

export interface Ticked {
  nodes: string[];
  scopes: string[];
}

// State of a check box: all, some or none of the nodes in a scope are selected.
export type Tick = 'all' | 'some' | 'none';

// Returns undefined for a scope whose children are not known yet.
export type ChildrenOf = (scope: string) => readonly GraphNode[] | undefined;

const parentOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf('/')));

function scopesAround(name: string): string[] {
  const scopes: string[] = [];
  for (let scope = parentOf(name); scope !== ''; scope = parentOf(scope)) scopes.push(scope);
  return scopes;
}

export class Ticks {
  // Checked names, and whether each is a scope.
  private readonly own: ReadonlyMap<string, boolean>;
  // Scopes that contain checked names.
  private readonly around: ReadonlySet<string>;

  constructor(own: ReadonlyMap<string, boolean>) {
    this.own = own;
    this.around = new Set([...own.keys()].flatMap(scopesAround));
  }

  static of(ticked: Ticked | null): Ticks {
    return new Ticks(
      new Map([
        ...(ticked?.scopes ?? []).map((name) => [name, true] as const),
        ...(ticked?.nodes ?? []).map((name) => [name, false] as const),
      ]),
    );
  }

  lists(): Ticked {
    const ticked: Ticked = { nodes: [], scopes: [] };
    for (const [name, isScope] of this.own) (isScope ? ticked.scopes : ticked.nodes).push(name);
    return ticked;
  }

  at(name: string): Tick {
    if (this.own.has(name) || scopesAround(name).some((scope) => this.own.has(scope))) return 'all';
    return this.around.has(name) ? 'some' : 'none';
  }

  // Checks the node unless it is fully checked; else unchecks it.
  toggle(node: GraphNode, childrenOf: ChildrenOf): Ticks {
    const own = new Map(this.own);
    if (this.at(node.name) === 'all') untick(own, node.name, childrenOf);
    else tick(own, node, childrenOf);
    return new Ticks(own);
  }
}

function tick(own: Map<string, boolean>, { name, kind }: GraphNode, childrenOf: ChildrenOf): void {
  for (const other of own.keys()) if (other.startsWith(`${name}/`)) own.delete(other);
  own.set(name, kind === 'scope');
  // If all siblings are checked, the scope is checked instead.
  for (const scope of scopesAround(name)) {
    const children = childrenOf(scope) ?? [];
    if (children.length < 2 || !children.every((child) => own.has(child.name))) return;
    for (const child of children) own.delete(child.name);
    own.set(scope, true);
  }
}

// If a scope that contains the node is checked, its other children are checked instead.
function untick(own: Map<string, boolean>, name: string, childrenOf: ChildrenOf): void {
  if (own.delete(name)) return;
  const around = scopesAround(name);
  const ticked = around.findIndex((scope) => own.has(scope));
  if (around.slice(0, ticked + 1).some((scope) => childrenOf(scope) === undefined)) return;
  own.delete(around[ticked] as string);
  for (const scope of around.slice(0, ticked + 1)) {
    for (const child of childrenOf(scope) ?? []) {
      const holdsIt = child.name === name || around.includes(child.name);
      if (!holdsIt) own.set(child.name, child.kind === 'scope');
    }
  }
}
