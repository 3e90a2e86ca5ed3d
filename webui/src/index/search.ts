// Searches the names of a graph. All names are joined into one lower-case text, which is faster to
// search than each name separately.

import type { GraphIndex } from './graph_index';
import { parseQuery, type Query } from './query';

// Separates names. It is rare in names and cannot be typed into a one-line field.
const END = '\n';

// Removes the namespace: "conv2d" for "aten::conv2d".
const bareType = (type: string) => type.slice(type.lastIndexOf(':') + 1);

// Matches the beginning of the type, with or without its namespace.
function isType(type: string, wanted: string): boolean {
  return type.startsWith(wanted) || bareType(type).startsWith(wanted);
}

// Returns whether a plain word matches an op type or the class of a module. Single letters are excluded
// because they match too many types, and a namespace alone because it matches all of them.
function wordIsType(type: string, word: string): boolean {
  return word.length > 1 && (bareType(type).startsWith(word) || (word.includes('::') && type.startsWith(word)));
}

function matchesFile(path: string, file: string): boolean {
  if (!path.endsWith(file)) return false;
  const before = path[path.length - file.length - 1];
  return before === undefined || before === '/' || before === '\\' || file.startsWith('/');
}

function isPlain({ op_type, category, kind, file }: Query): boolean {
  return op_type === null && category === null && kind === null && file === null;
}

// Removes items. Both lists are in ascending order.
function without(items: Uint32Array, removed: readonly number[]): Uint32Array {
  if (removed.length === 0) return items;
  const kept = new Uint32Array(items.length);
  let count = 0;
  let at = 0;
  for (const item of items) {
    while (at < removed.length && (removed[at] as number) < item) at += 1;
    if (removed[at] !== item) kept[count++] = item;
  }
  return kept.subarray(0, count);
}

const longestOf = ({ words }: Query) => words.toSorted((a, b) => b.length - a.length)[0] ?? '';

export class NameSearch {
  private joined = '';
  private names: string[] = [];
  // By item: the end of its name in `joined`. The top scope has none.
  private readonly ends: Uint32Array;
  private next = 1;
  // By op type: whether it matches `type:` of the current search.
  private readonly types = new Map<number, boolean>();
  // All op types in lower case, by number of their text; filled by the first search.
  private opTypes: Map<number, string> | null = null;

  constructor(private readonly index: GraphIndex) {
    this.ends = new Uint32Array(index.scopeCount + index.nodeCount);
  }

  // Adds the names of up to `items` items to the text. Returns true when the text is complete.
  prepare(items: number): boolean {
    const stop = Math.min(this.ends.length, this.next + items);
    let end = this.next === 1 ? 0 : (this.ends[this.next - 1] as number);
    for (; this.next < stop; this.next += 1) {
      const name = this.index.name(this.next).toLowerCase();
      const line = name.includes(END) ? name.replaceAll(END, ' ') : name;
      this.names.push(line);
      end += line.length + 1;
      this.ends[this.next] = end;
    }
    if (this.next < this.ends.length) return false;
    if (this.joined === '') this.joined = this.names.join(END) + END;
    this.names = [];
    return true;
  }

  // True if find() can run without preparing the text first.
  get ready(): boolean {
    return this.joined !== '';
  }

  // Returns the matching items, the best matches first and the others in the order of the graph.
  find(text: string): Uint32Array<ArrayBuffer> {
    this.prepare(Infinity);
    const query = parseQuery(text);
    if (query.problem !== null) return new Uint32Array();
    const found = this.candidates(query);
    const plain = query.words.length === 1 && query.pattern === null && isPlain(query);
    this.types.clear();
    const types = plain ? [] : query.words.map((word) => this.typesOf(word));
    const kept = plain ? found : found.filter((item) => this.matches(item, query, types));
    return this.ranked(kept, query.pattern === null ? longestOf(query) : '');
  }

  // Order: labels equal to the word, scopes whose label starts with it, other nodes, other scopes.
  private ranked(items: Uint32Array, word: string): Uint32Array<ArrayBuffer> {
    let scopes = 0;
    while (scopes < items.length && (items[scopes] as number) < this.index.scopeCount) scopes += 1;
    const first = this.labelled(items, word);
    const begin: number[] = [];
    const others: number[] = [];
    for (const item of without(items.subarray(0, scopes), first)) {
      (word !== '' && this.labelStartsWith(item, word) ? begin : others).push(item);
    }
    const nodes = without(items.subarray(scopes), first);
    const ordered = new Uint32Array(items.length);
    ordered.set(first);
    ordered.set(begin, first.length);
    ordered.set(nodes, first.length + begin.length);
    ordered.set(others, first.length + begin.length + nodes.length);
    return ordered;
  }

  // Returns the items whose label equals the word.
  private labelled(items: Uint32Array, word: string): readonly number[] {
    const labelled: number[] = [];
    if (word === '') return labelled;
    const last = word.charCodeAt(word.length - 1);
    for (const item of items) {
      const end = (this.ends[item] as number) - 1;
      // A cheap test that rejects nearly all of them.
      if (this.joined.charCodeAt(end - 1) !== last) continue;
      const begin = end - word.length;
      const before = begin === 0 ? END : this.joined[begin - 1];
      if ((before === '/' || before === END) && this.joined.startsWith(word, begin)) labelled.push(item);
    }
    return labelled;
  }

  private labelStartsWith(item: number, word: string): boolean {
    const first = item === 1 ? 0 : (this.ends[item - 1] as number);
    // A loop, because labels are short and a call of lastIndexOf() costs more.
    let start = (this.ends[item] as number) - 1;
    while (start > first && this.joined[start - 1] !== '/') start -= 1;
    return this.joined.startsWith(word, start);
  }

  // Returns items whose name contains the longest word, or whose op type or class matches it.
  private candidates(query: Query): Uint32Array {
    const word = longestOf(query);
    if (query.pattern !== null || word === '') return this.everything();
    const named = this.named(word);
    const types = this.typesOf(word);
    if (types === null) return named;
    const { index } = this;
    const marks = new Uint8Array(this.ends.length);
    for (const item of named) marks[item] = 1;
    let count = named.length;
    for (let item = 1; item < marks.length; item += 1) {
      if (types[index.opTypeText(item)] !== 1 || marks[item] === 1) continue;
      marks[item] = 1;
      count += 1;
    }
    if (count === named.length) return named;
    const found = new Uint32Array(count);
    let at = 0;
    for (let item = 1; item < marks.length; item += 1) if (marks[item] === 1) found[at++] = item;
    return found;
  }

  // Returns an array with 1 at the text of each op type that the word matches, or null if it
  // matches none.
  private typesOf(word: string): Uint8Array | null {
    const known = (this.opTypes ??= this.readTypes());
    let types: Uint8Array | null = null;
    for (const [text, type] of known) {
      if (!wordIsType(type, word)) continue;
      types ??= new Uint8Array(this.index.texts.count);
      types[text] = 1;
    }
    return types;
  }

  private readTypes(): Map<number, string> {
    const { index } = this;
    const types = new Map<number, string>();
    for (let item = 1; item < this.ends.length; item += 1) {
      const text = index.opTypeText(item);
      if (!types.has(text)) types.set(text, index.texts.at(text).toLowerCase());
    }
    return types;
  }

  private named(longest: string): Uint32Array {
    const found: number[] = [];
    let item = 1;
    for (let at = this.joined.indexOf(longest); at >= 0; ) {
      item = this.itemAt(at, item);
      found.push(item);
      at = this.joined.indexOf(longest, this.ends[item]);
    }
    return Uint32Array.from(found);
  }

  private everything(): Uint32Array {
    return Uint32Array.from({ length: this.ends.length - 1 }, (_, i) => i + 1);
  }

  // Returns the item whose name contains this position. It is at or after `low`, usually close.
  private itemAt(place: number, low: number): number {
    for (let near = low; near < low + 8; near += 1) {
      if ((this.ends[near] as number) > place) return near;
    }
    let high = this.ends.length - 1;
    let from = low;
    while (from < high) {
      const middle = (from + high) >> 1;
      if ((this.ends[middle] as number) > place) high = middle;
      else from = middle + 1;
    }
    return from;
  }

  private nameAt(item: number): string {
    return this.joined.slice(item === 1 ? 0 : this.ends[item - 1], (this.ends[item] as number) - 1);
  }

  private matchesType(text: number, wanted: string): boolean {
    let matches = this.types.get(text);
    if (matches === undefined) {
      matches = isType(this.index.texts.at(text).toLowerCase(), wanted);
      this.types.set(text, matches);
    }
    return matches;
  }

  // `types`: by word, the result of typesOf().
  private matches(item: number, query: Query, types: ReadonlyArray<Uint8Array | null>): boolean {
    const { index } = this;
    const { words, op_type, category, kind, file, line, pattern } = query;
    if (words.length > 1 || pattern !== null) {
      const name = this.nameAt(item);
      const type = index.opTypeText(item);
      if (!words.every((word, i) => name.includes(word) || types[i]?.[type] === 1)) return false;
      if (pattern !== null && !pattern.test(index.name(item))) return false;
    }
    if (kind !== null && index.kind(item) !== kind) return false;
    if (category !== null && (item < index.scopeCount || index.category(item) !== category)) return false;
    if (line !== 0 && (item < index.scopeCount || index.nodeLine[item - index.scopeCount] !== line)) return false;
    if (op_type !== null && !this.matchesType(index.opTypeText(item), op_type)) return false;
    if (file === null) return true;
    if (index.isScope(item)) return false;
    const path = index.nodeFile[item - index.scopeCount] as number;
    return path !== 0 && matchesFile(index.texts.at(path), file);
  }
}
