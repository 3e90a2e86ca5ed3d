// Search over all names: one joined text in lower case, searched as a whole.

import type { GraphIndex } from './graph_index';
import { parseQuery, type Query } from './query';

// A rare letter in names, and none that may be typed into one line.
const END = '\n';

// Of an op type, as "aten::conv2d".
const bareType = (type: string) => type.slice(type.lastIndexOf(':') + 1);

// Stands for "aten::conv2d" too when "conv2d" is asked for, and what it begins.
function isType(type: string, wanted: string): boolean {
  return type.startsWith(wanted) || bareType(type).startsWith(wanted);
}

// A plain word may be an op type or a module's class as well: "aten::mm", or what "mm"
// begins. One letter would mean too many, and
// what all types begin with, all.
function wordIsType(type: string, word: string): boolean {
  return word.length > 1 && (bareType(type).startsWith(word) || (word.includes('::') && type.startsWith(word)));
}

function meetsFile(path: string, file: string): boolean {
  if (!path.endsWith(file)) return false;
  const before = path[path.length - file.length - 1];
  return before === undefined || before === '/' || before === '\\' || file.startsWith('/');
}

function isPlain({ op_type, category, kind, file }: Query): boolean {
  return op_type === null && category === null && kind === null && file === null;
}

// Both in rising order.
function without(items: Uint32Array, left_out: readonly number[]): Uint32Array {
  if (left_out.length === 0) return items;
  const kept = new Uint32Array(items.length);
  let count = 0;
  let at = 0;
  for (const item of items) {
    while (at < left_out.length && (left_out[at] as number) < item) at += 1;
    if (left_out[at] !== item) kept[count++] = item;
  }
  return kept.subarray(0, count);
}

const longestOf = ({ words }: Query) => words.toSorted((a, b) => b.length - a.length)[0] ?? '';

export class NameSearch {
  private joined = '';
  private names: string[] = [];
  // Where each item's name ends in it, without the top.
  private readonly ends: Uint32Array;
  private next = 1;
  // Of few op types, and of one search: whether they are those that are asked for.
  private readonly types = new Map<number, boolean>();
  // In lower case, by their texts' numbers; made when the first word is typed.
  private opTypes: Map<number, string> | null = null;

  constructor(private readonly index: GraphIndex) {
    this.ends = new Uint32Array(index.scopeCount + index.nodeCount);
  }

  // Makes some of the text, so that nobody has to wait for all of it; true: it is whole.
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

  // Nothing has to be made before names are found.
  get ready(): boolean {
    return this.joined !== '';
  }

  // In the order of the graph, but for what is likely meant: see ranked.
  find(text: string): Uint32Array<ArrayBuffer> {
    this.prepare(Infinity);
    const query = parseQuery(text);
    if (query.problem !== null) return new Uint32Array();
    const found = this.candidates(query);
    const plain = query.words.length === 1 && query.pattern === null && isPlain(query);
    this.types.clear();
    const types = plain ? [] : query.words.map((word) => this.typesOf(word));
    const kept = plain ? found : found.filter((item) => this.meets(item, query, types));
    return this.ranked(kept, query.pattern === null ? longestOf(query) : '');
  }

  // First what is called just so, then scopes of which the label begins so, then the other
  // nodes and scopes.
  private ranked(items: Uint32Array, word: string): Uint32Array<ArrayBuffer> {
    let scopes = 0;
    while (scopes < items.length && (items[scopes] as number) < this.index.scopeCount) scopes += 1;
    const first = this.called(items, word);
    const begin: number[] = [];
    const others: number[] = [];
    for (const item of without(items.subarray(0, scopes), first)) {
      (word !== '' && this.labelBegins(item, word) ? begin : others).push(item);
    }
    const nodes = without(items.subarray(scopes), first);
    const ordered = new Uint32Array(items.length);
    ordered.set(first);
    ordered.set(begin, first.length);
    ordered.set(nodes, first.length + begin.length);
    ordered.set(others, first.length + begin.length + nodes.length);
    return ordered;
  }

  // Those of the items whose label is the word.
  private called(items: Uint32Array, word: string): readonly number[] {
    const called: number[] = [];
    if (word === '') return called;
    const last = word.charCodeAt(word.length - 1);
    for (const item of items) {
      const end = (this.ends[item] as number) - 1;
      // Nearly all differ in this letter.
      if (this.joined.charCodeAt(end - 1) !== last) continue;
      const begin = end - word.length;
      const before = begin === 0 ? END : this.joined[begin - 1];
      if ((before === '/' || before === END) && this.joined.startsWith(word, begin)) called.push(item);
    }
    return called;
  }

  private labelBegins(item: number, word: string): boolean {
    const first = item === 1 ? 0 : (this.ends[item - 1] as number);
    // Letter by letter: labels are short, and lastIndexOf is slow to begin.
    let start = (this.ends[item] as number) - 1;
    while (start > first && this.joined[start - 1] !== '/') start -= 1;
    return this.joined.startsWith(word, start);
  }

  // By name, and by op type or class where the word is one.
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

  // By text: 1 for op types that the word may mean; null: it means none.
  private typesOf(word: string): Uint8Array | null {
    const known = (this.opTypes ??= this.readTypes());
    let types: Uint8Array | null = null;
    for (const [text, type] of known) {
      if (!wordIsType(type, word)) continue;
      types ??= new Uint8Array(Math.max(...known.keys()) + 1);
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

  // The item whose name holds this place; not before `low`, and often just behind it.
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

  private meetsType(text: number, wanted: string): boolean {
    let met = this.types.get(text);
    if (met === undefined) {
      met = isType(this.index.texts.at(text).toLowerCase(), wanted);
      this.types.set(text, met);
    }
    return met;
  }

  // `types`: those that each word may mean.
  private meets(item: number, query: Query, types: ReadonlyArray<Uint8Array | null>): boolean {
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
    if (op_type !== null && !this.meetsType(index.opTypeText(item), op_type)) return false;
    if (file === null) return true;
    if (index.isScope(item)) return false;
    const path = index.nodeFile[item - index.scopeCount] as number;
    return path !== 0 && meetsFile(index.texts.at(path), file);
  }
}
