// Search for nodes: by the page if it has the graph's index, else by the server.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { GraphNode } from '../api/types';
import { Sequence } from '../base/sequence';
import { parseQuery } from '../index/query';
import { nodeOf } from '../index/scope_view';
import type { GraphIndex } from '../index/graph_index';
import { IndexViews } from '../index/index_views';
import { graphWorker } from '../worker/client';
import { useJob } from './job_store';
import { findNames } from './name_search';
import { useGraphs, useServerSearch } from './queries';
import { useScopes } from './scopes';

export interface Found {
  count: number;
  // Null if the result is not loaded.
  at(place: number): GraphNode | null;
  // Loads more results; null if there are none.
  more: (() => void) | null;
  loadingMore: boolean;
}

export interface SearchState {
  found: Found | null;
  // The text that `found` belongs to.
  text: string;
  error: Error | null;
  // Why the text is not a valid query.
  problem: string | null;
}

const requestIds = new Sequence();

interface Answer {
  items: Uint32Array;
  text: string;
}

// The worker's newest answer, or null.
function useWorkerSearch(text: string, enabled: boolean): Answer | null {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const requested = useRef({ id: 0, text: '' });
  useEffect(
    () =>
      graphWorker.subscribe((message) => {
        if (message.type !== 'found' || message.id !== requested.current.id) return;
        // Synchronously, to be included in the current frame.
        flushSync(() => setAnswer({ items: message.items, text: requested.current.text }));
      }),
    [],
  );
  useLayoutEffect(() => {
    if (!enabled || text === '') {
      setAnswer(null);
      return;
    }
    const id = requestIds.next();
    requested.current = { id, text };
    graphWorker.post({ type: 'search', id, text });
  }, [text, enabled]);
  return answer;
}

function useIndexSearch(index: GraphIndex | null, text: string): Answer | null {
  const own = useMemo((): Answer | null => {
    const items = index === null || text === '' ? null : findNames(index, text);
    return items === null ? null : { items, text };
  }, [index, text]);
  const answer = useWorkerSearch(text, index !== null && own === null);
  return own ?? answer;
}

export function useSearch(job: string, text: string): SearchState {
  const index = useScopes((state) => state.index);
  const watched = useScopes(({ views }) => (views instanceof IndexViews ? views.watched : null));
  const graphVersion = useJob((state) => state.model.graph_version);
  const problem = useMemo(() => parseQuery(text).problem, [text]);
  // The index contains one graph; the server searches all graphs of the job.
  const inIndex = useGraphs(job).length <= 1 && index !== null;
  const local = useIndexSearch(inIndex && problem === null ? index : null, text);
  const remote = useServerSearch(job, text, graphVersion, !inIndex && problem === null);
  const fromIndex = useMemo((): Found | null => {
    if (index === null || local === null) return null;
    const { items } = local;
    return {
      count: items.length,
      at: (place) => (items[place] === undefined ? null : nodeOf(index, items[place], watched)),
      more: null,
      loadingMore: false,
    };
  }, [index, local, watched]);
  const nodes = useMemo(() => remote.data?.pages.flatMap((page) => page.nodes), [remote.data]);
  const { hasNextPage, fetchNextPage, isFetchingNextPage } = remote;
  const fromServer = useMemo(
    (): Found | null =>
      nodes === undefined
        ? null
        : {
            count: nodes.length,
            at: (place) => nodes[place] ?? null,
            more: hasNextPage ? () => void fetchNextPage() : null,
            loadingMore: isFetchingNextPage,
          },
    [nodes, hasNextPage, fetchNextPage, isFetchingNextPage],
  );
  if (inIndex) return { found: fromIndex, text: local?.text ?? '', error: null, problem };
  return { found: fromServer, text: remote.isPlaceholderData ? '' : text, error: remote.error, problem };
}
