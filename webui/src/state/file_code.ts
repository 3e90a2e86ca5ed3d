// The code of a file's lines: all of them if the job has sent the file, otherwise those in the stacks of nodes.

import { useQuery } from '@tanstack/react-query';
import { api } from '../api/client';
import type { SearchQuery } from '../api/client';
import { Problem } from '../api/problem';

const PAGE = 1000;
// Files of very large models have their first lines only.
const MAX_PAGES = 10;

// By line.
type Code = ReadonlyMap<number, string>;

async function fetchCode(job: string, file: string, signal: AbortSignal): Promise<Code> {
  try {
    const { text } = await api.sourceFile(job, file, signal);
    return new Map(text.replace(/\n$/, '').split('\n').map((line, i) => [i + 1, line]));
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'unknown_file')) throw error;
    return fetchStackLines(job, file, signal);
  }
}

async function fetchStackLines(job: string, file: string, signal: AbortSignal): Promise<Code> {
  const code = new Map<number, string>();
  const query: SearchQuery = { q: '', in: null, op_type: null, category: null, kind: null, source: file, limit: PAGE, cursor: null };
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { nodes, next_cursor } = await api.search(job, query, signal);
    for (const { match, source } of nodes) {
      for (const frame of [match, source]) {
        if (frame?.file === file && frame.text) code.set(frame.line, frame.text);
      }
    }
    if (!next_cursor) break;
    query.cursor = next_cursor;
  }
  return code;
}

export function useFileCode(job: string, file: string, graphVersion: number) {
  return useQuery({
    queryKey: ['file code', job, file, graphVersion],
    queryFn: ({ signal }) => fetchCode(job, file, signal),
    placeholderData: (previous, query) => (query?.queryKey[2] === file ? previous : undefined),
    structuralSharing: false,
  });
}
