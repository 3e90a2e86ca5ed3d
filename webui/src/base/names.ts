// Full names: a node is scope/…/label, a tensor is node:slot.

export function labelOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

// Returns the scopes that contain `name`, outermost first, without `name` itself.
export function ancestorsOf(name: string): string[] {
  const result: string[] = [];
  for (let cut = name.indexOf('/'); cut >= 0; cut = name.indexOf('/', cut + 1)) {
    result.push(name.slice(0, cut));
  }
  return result;
}

// Returns the last part of a path with either separator, for short source references.
export function fileName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}

// The parts of a tensor's name. A name without a slot is that of a node's first output.
export function splitTensor(name: string): { node: string; slot: number } {
  const colon = name.lastIndexOf(':');
  const slot = name.slice(colon + 1);
  return colon >= 0 && /^\d+$/.test(slot) ? { node: name.slice(0, colon), slot: Number(slot) } : { node: name, slot: 0 };
}
