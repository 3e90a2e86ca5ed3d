// The lines of a source file as far as they are known: some jobs send only the lines of stack frames.

import { linesWithNodes } from './source_views';
import type { GraphIndex } from './graph_index';

export interface FileLine {
  line: number;
  text: string;
  // Nodes whose innermost line of the user's code this is; 0 for lines that only call those.
  ops: number;
  hits: number;
}

// Lines that are not known.
export interface Gap {
  from: number;
  to: number;
}

export type FileRow = FileLine | Gap;

export const isGap = (row: FileRow): row is Gap => 'from' in row;

// As many lines before and after the current one are shown.
const AROUND = 1500;

// The known lines around the current one in order, and the gaps between them. `texts`: by line; `hits`: by node.
export function fileRows(
  index: GraphIndex,
  file: string,
  texts: ReadonlyMap<number, string>,
  hits: ReadonlyMap<string, number>,
  current: number,
): FileRow[] {
  const lines = new Map<number, FileLine>();
  for (const [line, text] of texts) lines.set(line, { line, text, ops: 0, hits: 0 });
  for (const [line, items] of linesWithNodes(index, file)) {
    const counted = items.reduce((sum, item) => sum + (hits.size === 0 ? 0 : (hits.get(index.name(item)) ?? 0)), 0);
    lines.set(line, { line, text: texts.get(line) ?? '', ops: items.length, hits: counted });
  }
  const rows: FileRow[] = [];
  let next = 1;
  const near = [...lines.values()].filter(({ line }) => Math.abs(line - current) <= AROUND);
  for (const row of near.sort((a, b) => a.line - b.line)) {
    if (row.line > next) rows.push({ from: next, to: row.line - 1 });
    rows.push(row);
    next = row.line + 1;
  }
  return rows;
}
