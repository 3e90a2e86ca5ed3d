// Nodes that meet what was typed: found by the page where the whole graph is known, else
// by the server.

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
  // Null: not known.
  at(place: number): GraphNode | null;
  // There are more than `count`.
  more: (() => void) | null;
  loadingMore: boolean;
}

export interface SearchState {
  found: Found | null;
  // What the text of it was.
  text: string;
  error: Error | null;
  // Of the text itself.
  problem: string | null;
}

const requestIds = new Sequence();

interface Answer {
  items: Uint32Array;
  text: string;
}

// The worker's newest answer; null while there is none.
function useWorkerSearch(text: string, enabled: boolean): Answer | null {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const requested = useRef({ id: 0, text: '' });
  useEffect(
    () =>
      graphWorker.subscribe((message) => {
        if (message.type !== 'found' || message.id !== requested.current.id) return;
        // In the frame that is being made, if there is time.
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
  // The index is of one graph, the server searches all.
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
