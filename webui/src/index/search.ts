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

// What people look for before all else, the first first: the label as it was typed,
// scopes of that label's beginning, other nodes, other scopes.
const enum Rank {
  Exact,
  Scope,
  Node,
  InScope,
}
const RANKS = [Rank.Exact, Rank.Scope, Rank.Node, Rank.InScope];

function meetsFile(path: string, file: string): boolean {
  if (!path.endsWith(file)) return false;
  const before = path[path.length - file.length - 1];
  return before === undefined || before === '/' || before === '\\' || file.startsWith('/');
}

function isPlain({ op_type, category, kind, file }: Query): boolean {
  return op_type === null && category === null && kind === null && file === null;
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

  // By rank, and in the order of the graph.
  find(text: string): Uint32Array<ArrayBuffer> {
    this.prepare(Infinity);
    const query = parseQuery(text);
    if (query.problem !== null) return new Uint32Array();
    const found = this.candidates(query);
    const plain = query.words.length === 1 && query.pattern === null && isPlain(query);
    this.types.clear();
    const kept = plain ? found : found.filter((item) => this.meets(item, query));
    return this.ranked(kept, query.pattern === null ? longestOf(query) : '');
  }

  private ranked(items: Uint32Array, word: string): Uint32Array<ArrayBuffer> {
    const ranks = Uint8Array.from(items, (item) => this.rankOf(item, word));
    const ordered = new Uint32Array(items.length);
    let at = 0;
    for (const rank of RANKS) {
      for (let i = 0; i < items.length; i += 1) {
        if (ranks[i] === rank) ordered[at++] = items[i] as number;
      }
    }
    return ordered;
  }

  private rankOf(item: number, word: string): Rank {
    const isScope = item < this.index.scopeCount;
    if (word === '') return isScope ? Rank.InScope : Rank.Node;
    // The label is what ends the name, behind a slash or the name before.
    const end = (this.ends[item] as number) - 1;
    const begin = end - word.length;
    if (this.joined.startsWith(word, begin) && (begin === 0 || this.isBorder(begin - 1))) return Rank.Exact;
    if (!isScope) return Rank.Node;
    const label = this.joined.lastIndexOf('/', end - 1) + 1;
    const own = Math.max(label, item === 1 ? 0 : (this.ends[item - 1] as number));
    return this.joined.startsWith(word, own) ? Rank.Scope : Rank.InScope;
  }

  private isBorder(place: number): boolean {
    const letter = this.joined[place];
    return letter === '/' || letter === END;
  }

  // By name, and by op type or class where the word is one.
  private candidates(query: Query): Uint32Array {
    const word = longestOf(query);
    if (query.pattern !== null || word === '') return this.everything();
    const named = this.named(word);
    const types = this.typesOf(word);
    if (types.size === 0) return named;
    const { index } = this;
    const marks = new Uint8Array(this.ends.length);
    for (const item of named) marks[item] = 1;
    for (let item = 1; item < marks.length; item += 1) {
      if (types.has(index.opTypeText(item))) marks[item] = 1;
    }
    return this.everything().filter((item) => marks[item] === 1);
  }

  // The texts of types that the word may mean.
  private typesOf(word: string): ReadonlySet<number> {
    if (this.opTypes === null) {
      const { index } = this;
      this.opTypes = new Map();
      for (let item = 1; item < this.ends.length; item += 1) {
        const text = index.opTypeText(item);
        if (!this.opTypes.has(text)) this.opTypes.set(text, index.texts.at(text).toLowerCase());
      }
    }
    return new Set([...this.opTypes].filter(([, type]) => wordIsType(type, word)).map(([text]) => text));
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

  private meets(item: number, query: Query): boolean {
    const { index } = this;
    const { words, op_type, category, kind, file, line, pattern } = query;
    if (words.length > 1 || pattern !== null) {
      const name = this.nameAt(item);
      const type = index.texts.at(index.opTypeText(item)).toLowerCase();
      if (!words.every((word) => name.includes(word) || wordIsType(type, word))) return false;
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
