// Search for nodes: by the page if it has the graph's index, else by the server. What only the
// server can find, by code and stacks, follows what the page finds.

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
import { beyond, searchesCode, useSettled } from './search_in_code';

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
  const query = useMemo(() => parseQuery(text), [text]);
  const { problem } = query;
  // The index contains one graph; the server searches all graphs of the job.
  const inIndex = useGraphs(job).length <= 1 && index !== null;
  const local = useIndexSearch(inIndex && problem === null ? index : null, text);
  const settled = useSettled(text) === text;
  const wanted = inIndex ? searchesCode(query) : problem === null;
  const remote = useServerSearch(job, text, graphVersion, wanted && (settled || !inIndex), inIndex ? 'code' : null);
  const answer = remote.isPlaceholderData ? undefined : remote.data;
  const nodes = useMemo(() => remote.data?.pages.flatMap((page) => page.nodes), [remote.data]);
  const { hasNextPage, fetchNextPage, isFetchingNextPage } = remote;
  const more = useMemo(
    () =>
      index === null || local === null || !wanted ? [] : beyond(answer === undefined ? [] : (nodes ?? []), index, local.items),
    [index, local, wanted, answer, nodes],
  );
  const moreFollow = wanted && answer !== undefined && hasNextPage;
  const fromIndex = useMemo((): Found | null => {
    if (index === null || local === null) return null;
    const { items } = local;
    return {
      count: items.length + more.length,
      at: (place) => (items[place] === undefined ? (more[place - items.length] ?? null) : nodeOf(index, items[place], watched)),
      more: moreFollow ? () => void fetchNextPage() : null,
      loadingMore: isFetchingNextPage,
    };
  }, [index, local, watched, more, moreFollow, fetchNextPage, isFetchingNextPage]);
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
  if (inIndex) {
    // Nothing is reported as not found before the server has searched, too.
    const open = wanted && fromIndex?.count === 0 && answer === undefined && remote.error === null && remote.fetchStatus !== 'paused';
    return { found: open ? null : fromIndex, text: local?.text ?? '', error: null, problem };
  }
  return { found: fromServer, text: remote.isPlaceholderData ? '' : text, error: remote.error, problem };
}
