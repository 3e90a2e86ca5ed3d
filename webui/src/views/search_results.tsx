// Nodes whose name holds the text, while it is typed.

import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useImperativeHandle, useMemo, useRef, useState, type Ref } from 'react';
import { describe } from '../api/problem';
import type { GraphNode } from '../api/types';
import { plural } from '../base/format';
import { endMeasure } from '../base/timing';
import { useJob } from '../state/job_store';
import { useSearch } from '../state/queries';
import { Button } from '../widgets/button';
import { FullName } from '../widgets/full_name';
import { KindIcon } from '../widgets/kind_icon';
import { NodeMarks } from '../widgets/node_marks';
import { Notice } from '../widgets/notice';
import { useJobContext } from './job_context';

const ROW_PX = 26;

export interface SearchResultsHandle {
  move(by: number): void;
  // Goes to the marked result and marks the next (or the one before).
  accept(backwards: boolean): void;
}

interface Props {
  query: string;
  onChoose: (name: string) => void;
  ref: Ref<SearchResultsHandle>;
}

function Result({ node, query }: { node: GraphNode; query: string }) {
  const { hitIndex, current } = useJobContext();
  return (
    <>
      <KindIcon kind={node.kind} category={node.category} />
      <span className="grow">
        <FullName name={node.name} mark={query} />
      </span>
      <span aria-hidden>
        <NodeMarks
          hits={Math.max(node.hit_count, hitIndex.get(node.name) ?? 0)}
          watched={node.watched}
          current={node.name === current}
        />
      </span>
    </>
  );
}

export function SearchResults({ query, onChoose, ref }: Props) {
  const { id, route } = useJobContext();
  const graphVersion = useJob((state) => state.model.graph_version);
  const search = useSearch(id, query, graphVersion);
  const nodes = useMemo(() => search.data?.pages.flatMap((page) => page.nodes) ?? [], [search.data]);
  const [marked, setMarked] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: nodes.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  });
  useEffect(() => setMarked(0), [query]);
  useEffect(() => {
    if (!search.isPlaceholderData && search.data !== undefined) endMeasure('graphdbg:search');
  }, [search.data, search.isPlaceholderData]);

  const mark = (index: number) => {
    const at = (index + nodes.length) % Math.max(1, nodes.length);
    setMarked(at);
    virtual.scrollToIndex(at, { align: 'auto' });
    return nodes[at];
  };
  useImperativeHandle(ref, () => ({
    move: (by) => void mark(marked + by),
    accept: (backwards) => {
      const here = nodes[marked];
      // Enter again goes on to the next result.
      const already = here !== undefined && here.name === route?.node;
      const node = already ? mark(marked + (backwards ? -1 : 1)) : here;
      if (node !== undefined) onChoose(node.name);
    },
  }));

  if (search.error !== null) {
    return (
      <Notice title="The search failed" tone="error">
        {describe(search.error)}
      </Notice>
    );
  }
  if (search.data === undefined) return <Notice title="Searching" busy />;
  if (nodes.length === 0) return <Notice title="No node matches">Names hold no “{query}”.</Notice>;
  const count = plural(nodes.length, 'result');
  return (
    <div className="results">
      <div className="results-head" role="status">
        {search.hasNextPage ? `First ${count}` : count}
      </div>
      <div ref={scroller} className="results-list" role="listbox" aria-label="Search results" tabIndex={0}>
        <div role="presentation" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const node = nodes[index];
            if (node === undefined) return null;
            return (
              <div
                key={node.name}
                role="option"
                aria-label={node.name}
                aria-selected={index === marked}
                className="result"
                style={{ transform: `translateY(${start}px)` }}
                title={node.name}
                onClick={() => {
                  setMarked(index);
                  onChoose(node.name);
                }}
              >
                <Result node={node} query={query} />
              </div>
            );
          })}
        </div>
      </div>
      {search.hasNextPage && (
        <div className="results-more">
          <Button
            label="More results"
            small
            pending={search.isFetchingNextPage}
            onClick={() => void search.fetchNextPage()}
          />
        </div>
      )}
    </div>
  );
}
