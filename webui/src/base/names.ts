// Full names: a node is scope/…/label, a tensor is node:slot.

const SHORTEST_PART = 4;

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

// Keeps the number at the end of a word, which distinguishes it from others: "la…1".
function abbreviate(word: string, most: number): string {
  if (word.length <= most) return word;
  const number = /\d*$/.exec(word)?.[0] ?? '';
  const kept = Math.max(1, most - 1 - number.length);
  return kept + number.length >= word.length ? word : `${word.slice(0, kept)}…${number}`;
}

// Abbreviates the words of a path to fit into a number of characters. Numbers and the beginnings of
// words stay, since they distinguish the paths of similar blocks: "down…/0/resn…/1".
export function fitPath(path: string, limit: number): string {
  const parts = path.split('/');
  const longest = Math.max(...parts.map((part) => part.length));
  let text = path;
  for (let most = longest; text.length > limit && most >= SHORTEST_PART; most -= 1) {
    text = parts.map((part) => abbreviate(part, most)).join('/');
  }
  return text.length <= limit ? text : `…${text.slice(text.length - Math.max(0, limit - 1))}`;
}
