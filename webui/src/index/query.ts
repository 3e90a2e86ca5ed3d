// The language of the search field. A query has words that must all match. A plain word matches a
// part of the name; `type:`, `category:`, `source:` and `kind:` match other properties, and
// FILE:LINE matches a source line.

import type { Category, NodeKind } from '../api/types';
import { unknownCategory, unknownKind } from '../words/graph';

export interface Query {
  // In lower case; each must be a part of the full name.
  words: string[];
  op_type: string | null;
  category: Category | null;
  kind: NodeKind | null;
  file: string | null;
  // 0 for any line.
  line: number;
  // From "/…/": must match the full name; replaces the words.
  pattern: RegExp | null;
  // Why the query is invalid; null if it is valid.
  problem: string | null;
}

export const CATEGORIES: readonly Category[] = ['weight', 'gradient', 'activation', 'optimizer', 'other'];
const KINDS: readonly NodeKind[] = ['scope', 'op', 'parameter', 'buffer', 'constant', 'input'];

function oneOf<T extends string>(words: readonly T[], start: string): T | null {
  return words.find((word) => word.startsWith(start.toLowerCase())) ?? null;
}

function takeSource(query: Query, text: string): void {
  const match = /^(.*?)(?::(\d+))?$/s.exec(text);
  query.file = match?.[1] ?? text;
  query.line = Number(match?.[2] ?? 0);
}

function takeWord(query: Query, word: string): void {
  const match = /^(type|category|kind|source):(.*)$/i.exec(word);
  const value = match?.[2] ?? '';
  switch (match?.[1]?.toLowerCase()) {
    case 'type':
      query.op_type = value.toLowerCase();
      return;
    case 'category':
      query.category = oneOf(CATEGORIES, value);
      if (query.category === null) query.problem = unknownCategory(value, CATEGORIES);
      return;
    case 'kind':
      query.kind = oneOf(KINDS, value);
      if (query.kind === null) query.problem = unknownKind(value, KINDS);
      return;
    case 'source':
      takeSource(query, value);
      return;
    default:
      if (/\.\w+:\d+$/.test(word)) takeSource(query, word);
      else query.words.push(word.toLowerCase());
  }
}

export function parseQuery(text: string): Query {
  const query: Query = {
    words: [], op_type: null, category: null, kind: null, file: null, line: 0, pattern: null, problem: null,
  };
  const pattern = /^\/(.+)\/$/s.exec(text.trim());
  if (pattern !== null) {
    try {
      query.pattern = new RegExp(pattern[1] as string, 'i');
    } catch (error) {
      query.problem = error instanceof Error ? error.message : String(error);
    }
    return query;
  }
  for (const word of text.trim().split(/\s+/)) {
    if (word !== '') takeWord(query, word);
  }
  return query;
}
