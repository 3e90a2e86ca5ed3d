// What a watchpoint's selection has beside names and categories, as texts of the form: what it is
// narrowed to, and what is left out.

import type { NodeLists, WatchLists } from '../api/types';
import * as words from '../words/watch_form';

// Entries are separated by commas, except those of `exclude`, which are words like those of the
// search: a name, scope/, a pattern, /regex/, type:, source:, dtype:, rank:.
export type Narrowing = Record<words.NarrowingField, string>;

export const FIELDS = ['op_types', 'sources', 'dtypes', 'ranks', 'regexes', 'exclude'] as const;

export const NO_NARROWING: Narrowing = {
  op_types: '', sources: '', dtypes: '', ranks: '', regexes: '', exclude: '',
};

export const isNarrowed = (narrowing: Narrowing) => FIELDS.some((field) => narrowing[field].trim() !== '');

const entriesOf = (text: string) => text.split(',').map((entry) => entry.trim()).filter((entry) => entry !== '');

const PREFIXES = { type: 'op_types', source: 'sources', dtype: 'dtypes' } as const;

// A comma may be part of a regular expression, so there is one expression.
const regexOf = (text: string) => /^\/(.+)\/$/s.exec(text)?.[1] ?? text;

function numberOf(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : words.notARank(text);
}

function takeWord(lists: Required<NodeLists>, word: string): string | null {
  const [, prefix = '', value = ''] = /^(type|source|dtype|rank):(.+)$/.exec(word) ?? [];
  if (prefix === 'rank') {
    const rank = numberOf(value);
    if (typeof rank === 'string') return rank;
    lists.ranks.push(rank);
  } else if (prefix !== '') lists[PREFIXES[prefix as keyof typeof PREFIXES]].push(value);
  else if (/^\/.+\/$/s.test(word)) lists.regexes.push(regexOf(word));
  else if (/[*?]/.test(word)) lists.patterns.push(word);
  else if (word.endsWith('/')) lists.scopes.push(word.slice(0, -1));
  else lists.nodes.push(word);
  return null;
}

const noLists = (): Required<NodeLists> => ({
  nodes: [], scopes: [], patterns: [], regexes: [], categories: [], op_types: [], sources: [], dtypes: [], ranks: [],
});

// Lists that are empty are left out: older servers do not know them.
function givenOf<T extends NodeLists>(lists: T): Partial<T> {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => (list as unknown[]).length > 0)) as Partial<T>;
}

// The lists of the texts, or what is wrong with them. Categories cannot be typed; `kept` are those
// that the edited watchpoint leaves out.
export function readNarrowing(texts: Narrowing, kept: NodeLists['categories'] = []): Partial<WatchLists> | string {
  const ranks = entriesOf(texts.ranks).map(numberOf);
  const wrong = ranks.find((rank) => typeof rank === 'string');
  if (typeof wrong === 'string') return wrong;
  const exclude = { ...noLists(), categories: [...kept] };
  for (const word of texts.exclude.split(/\s+/).filter((each) => each !== '')) {
    const problem = takeWord(exclude, word);
    if (problem !== null) return problem;
  }
  const regex = texts.regexes.trim();
  const given = givenOf({
    op_types: entriesOf(texts.op_types),
    sources: entriesOf(texts.sources),
    dtypes: entriesOf(texts.dtypes),
    ranks: ranks as number[],
    regexes: regex === '' ? [] : [regexOf(regex)],
  });
  const left = givenOf(exclude);
  return Object.keys(left).length === 0 ? given : { ...given, exclude: left };
}

export function wordsOf(lists: NodeLists): string[] {
  return [
    ...(lists.nodes ?? []),
    ...(lists.scopes ?? []).map((scope) => `${scope}/`),
    ...(lists.patterns ?? []),
    ...(lists.regexes ?? []).map((regex) => `/${regex}/`),
    ...(lists.op_types ?? []).map((type) => `type:${type}`),
    ...(lists.sources ?? []).map((source) => `source:${source}`),
    ...(lists.dtypes ?? []).map((dtype) => `dtype:${dtype}`),
    ...(lists.ranks ?? []).map((rank) => `rank:${rank}`),
  ];
}

// The texts for a watchpoint that is edited or copied.
export function narrowingOf(lists: WatchLists): Narrowing {
  const text = (entries: readonly (string | number)[] | undefined) => (entries ?? []).join(', ');
  const { regexes = [] } = lists;
  return {
    op_types: text(lists.op_types),
    sources: text(lists.sources),
    dtypes: text(lists.dtypes),
    ranks: text(lists.ranks),
    regexes: regexes.length > 1 ? regexes.map((regex) => `(?:${regex})`).join('|') : (regexes[0] ?? ''),
    exclude: wordsOf(lists.exclude ?? {}).join(' '),
  };
}

// Only the lists, of a watchpoint or of lists with more.
export function listsIn(from: WatchLists): WatchLists {
  const { nodes, scopes, patterns, categories, regexes, op_types, sources, dtypes, ranks, exclude } = from;
  const more = givenOf({
    regexes: regexes ?? [], op_types: op_types ?? [], sources: sources ?? [], dtypes: dtypes ?? [], ranks: ranks ?? [],
  });
  const left = givenOf(exclude ?? {});
  return { nodes, scopes, patterns, categories, ...more, ...(Object.keys(left).length > 0 ? { exclude: left } : {}) };
}
