// Search over all names: one joined text in lower case, searched as a whole.

import type { GraphIndex } from './graph_index';
import { parseQuery, type Query } from './query';

// A rare letter in names, and none that may be typed into one line.
const END = '\n';

// Stands for "aten::conv2d" too when "conv2d" is asked for, and what it begins.
function isType(type: string, wanted: string): boolean {
  const bare = type.slice(type.lastIndexOf(':') + 1);
  return type.startsWith(wanted) || bare.startsWith(wanted);
}

function meetsFile(path: string, file: string): boolean {
  if (!path.endsWith(file)) return false;
  const before = path[path.length - file.length - 1];
  return before === undefined || before === '/' || before === '\\' || file.startsWith('/');
}

function isPlain({ op_type, category, kind, file }: Query): boolean {
  return op_type === null && category === null && kind === null && file === null;
}

export class NameSearch {
  private joined = '';
  private names: string[] = [];
  // Where each item's name ends in it, without the top.
  private readonly ends: Uint32Array;
  private next = 1;
  // Of few op types, and of one search: whether they are those that are asked for.
  private readonly types = new Map<number, boolean>();

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

  // Nodes in the order of the graph, then scopes.
  find(text: string): Uint32Array<ArrayBuffer> {
    this.prepare(Infinity);
    const query = parseQuery(text);
    if (query.problem !== null) return new Uint32Array();
    const found = this.candidates(query);
    const plain = query.words.length === 1 && query.pattern === null && isPlain(query);
    this.types.clear();
    const kept = plain ? found : found.filter((item) => this.meets(item, query));
    let scopes = 0;
    while (scopes < kept.length && (kept[scopes] as number) < this.index.scopeCount) scopes += 1;
    const ordered = new Uint32Array(kept.length);
    ordered.set(kept.subarray(scopes));
    ordered.set(kept.subarray(0, scopes), kept.length - scopes);
    return ordered;
  }

  private candidates({ words, pattern }: Query): Uint32Array {
    const longest = words.toSorted((a, b) => b.length - a.length)[0];
    if (pattern !== null || longest === undefined) return this.everything();
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
      if (!words.every((word) => name.includes(word))) return false;
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
