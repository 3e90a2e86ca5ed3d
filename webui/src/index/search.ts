// Search over all names: one joined text in lower case, searched as a whole.

import type { GraphIndex } from './graph_index';
import { parseQuery, type Query } from './query';

// A rare letter in names, and none that may be typed into one line.
const END = '\n';

// Stands for "aten::conv2d" too when "conv2d" is asked for, and what it begins.
function meetsType(type: string, wanted: string): boolean {
  const bare = type.slice(type.lastIndexOf(':') + 1);
  return type.startsWith(wanted) || bare.startsWith(wanted);
}

function meetsFile(path: string, file: string): boolean {
  if (!path.endsWith(file)) return false;
  const before = path[path.length - file.length - 1];
  return before === undefined || before === '/' || before === '\\' || file.startsWith('/');
}

export class NameSearch {
  private readonly joined: string;
  // Where each item's name ends in it, without the top.
  private readonly ends: Uint32Array;

  constructor(private readonly index: GraphIndex) {
    const count = index.scopeCount + index.nodeCount;
    const names: string[] = [];
    this.ends = new Uint32Array(count);
    let length = 0;
    for (let item = 1; item < count; item += 1) {
      const name = index.name(item).toLowerCase().replaceAll(END, ' ');
      names.push(name);
      length += name.length + 1;
      this.ends[item] = length;
    }
    this.joined = names.join(END) + END;
  }

  // Items in their order: nodes first in that of the graph, then scopes.
  find(text: string): Uint32Array<ArrayBuffer> {
    const query = parseQuery(text);
    if (query.problem !== null) return new Uint32Array();
    const first = this.candidates(query);
    const found = first.filter((item) => this.meets(item, query));
    const scopes = found.findIndex((item) => item >= this.index.scopeCount);
    const cut = scopes < 0 ? 0 : scopes;
    return Uint32Array.from([...found.subarray(cut), ...found.subarray(0, cut)]);
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

  // The item whose name holds this place; not before `low`.
  private itemAt(place: number, low: number): number {
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

  private meets(item: number, query: Query): boolean {
    const { index } = this;
    const { words, op_type, category, kind, file, line, pattern } = query;
    if (words.length > 1 || pattern !== null) {
      const name = this.nameAt(item);
      if (!words.every((word) => name.includes(word))) return false;
      if (pattern !== null && !pattern.test(index.name(item))) return false;
    }
    if (kind !== null && index.kind(item) !== kind) return false;
    if (category !== null && (index.isScope(item) || index.category(item) !== category)) return false;
    if (op_type !== null && !meetsType(index.opType(item).toLowerCase(), op_type)) return false;
    if (file === null) return true;
    if (index.isScope(item)) return false;
    const node = item - index.scopeCount;
    if (line !== 0 && index.column('node_line')[node] !== line) return false;
    const path = index.column('node_file')[node] as number;
    return path !== 0 && meetsFile(index.texts.at(path), file);
  }
}
