// What is typed into the search field: words that all must be met. A word is a part
// of the name; `type:`, `category:`, `source:` and `kind:` ask for other things, and
// FILE:LINE is a source line.

import type { Category, NodeKind } from '../api/types';

export interface Query {
  // Lower case; all of them are parts of the full name.
  words: string[];
  op_type: string | null;
  category: Category | null;
  kind: NodeKind | null;
  file: string | null;
  // 0: any.
  line: number;
  // "/…/": the full name meets it, instead of words.
  pattern: RegExp | null;
  // What cannot be understood.
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
      if (query.category === null) query.problem = `There is no category “${value}”: ${CATEGORIES.join(', ')}.`;
      return;
    case 'kind':
      query.kind = oneOf(KINDS, value);
      if (query.kind === null) query.problem = `There is no kind “${value}”: ${KINDS.join(', ')}.`;
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
