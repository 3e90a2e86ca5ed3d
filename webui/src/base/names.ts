// Full names of nodes: scope/…/label; a tensor is node:slot.

export function labelOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

// The scope that holds `name`; empty for the top.
export function parentOf(name: string): string {
  const cut = name.lastIndexOf('/');
  return cut < 0 ? '' : name.slice(0, cut);
}

// Scopes around `name`, outermost first, without `name` itself.
export function ancestorsOf(name: string): string[] {
  const result: string[] = [];
  for (let cut = name.indexOf('/'); cut >= 0; cut = name.indexOf('/', cut + 1)) {
    result.push(name.slice(0, cut));
  }
  return result;
}

export function isWithin(name: string, scope: string): boolean {
  return scope === '' || name === scope || name.startsWith(`${scope}/`);
}

export function tensorName(node: string, slot: number): string {
  return `${node}:${slot}`;
}

// The last part of a path of either separator, for short source references.
export function fileName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}
