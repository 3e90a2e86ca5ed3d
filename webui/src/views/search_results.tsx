// Nodes that meet the text, while it is typed.

import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useImperativeHandle, useRef, useState, type Ref } from 'react';
import { describe } from '../api/problem';
import type { GraphNode } from '../api/types';
import { formatCount } from '../base/format';
import { endMeasure } from '../base/timing';
import { parseQuery } from '../index/query';
import { useSearch } from '../state/search';
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
  const search = useSearch(id, query);
  const { found } = search;
  const count = found?.count ?? 0;
  const [marked, setMarked] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  });
  useEffect(() => setMarked(0), [query]);
  useEffect(() => {
    if (found !== null && search.text === query) endMeasure('graphdbg:search');
  }, [found, search.text, query]);

  const mark = (index: number) => {
    const at = (index + count) % Math.max(1, count);
    setMarked(at);
    virtual.scrollToIndex(at, { align: 'auto' });
    return found?.at(at) ?? null;
  };
  useImperativeHandle(ref, () => ({
    move: (by) => void mark(marked + by),
    accept: (backwards) => {
      const here = found?.at(marked) ?? null;
      // Enter again goes on to the next result.
      const already = here !== null && here.name === route?.node;
      const node = already ? mark(marked + (backwards ? -1 : 1)) : here;
      if (node !== null) onChoose(node.name);
    },
  }));

  if (search.error !== null) {
    return (
      <Notice title="The search failed" tone="error">
        {describe(search.error)}
      </Notice>
    );
  }
  if (search.problem !== null) return <Notice title="Not a search">{search.problem}</Notice>;
  if (found === null) return <Notice title="Searching" busy />;
  if (count === 0) return <Notice title="No node matches">Nothing is found for “{query}”.</Notice>;
  const result = `${formatCount(count)} ${count === 1 ? 'result' : 'results'}`;
  const marks = parseQuery(query).words;
  return (
    <div className="results">
      <div className="results-head" role="status">
        {found.more === null ? result : `First ${result}`}
      </div>
      <div ref={scroller} className="results-list" role="listbox" aria-label="Search results" tabIndex={0}>
        <div role="presentation" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const node = found.at(index);
            if (node === null) return null;
            return (
              <div
                key={index}
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
                <Result node={node} query={marks[0] ?? ''} />
              </div>
            );
          })}
        </div>
      </div>
      {found.more !== null && (
        <div className="results-more">
          <Button
            label="More results"
            small
            pending={found.loadingMore}
            onClick={found.more}
          />
        </div>
      )}
    </div>
  );
}
