// The list of search results, one of which is marked.

import { memo, useImperativeHandle, useLayoutEffect, useRef, useState, type Ref } from 'react';
import type { GraphNode } from '../api/types';
import type { Found } from '../state/search';
import { RESULT_PX, ResultRowView, type ShownResult } from '../widgets/result_row_view';
import { useRowWindow, type RowKind } from '../widgets/row_window';
import { useElementSize } from '../widgets/use_size';
import '../widgets/kind_icon.css';
import '../widgets/node_marks.css';
import { searchResults } from '../words/graph';
import { useJobContext } from './job_context';

export interface ResultListHandle {
  move(by: number): void;
  // Goes to the marked result. If it is selected already, moves on to the next or the
  // previous one.
  accept(backwards: boolean): void;
}

interface Props {
  found: Found;
  // The part of the names to highlight.
  word: string;
  onChoose: (name: string) => void;
  ref: Ref<ResultListHandle>;
}

const RESULT_ROWS: RowKind<ShownResult> = { height: RESULT_PX, make: () => new ResultRowView() };

// Memoized: rendered when the results change, not for every key.
export const ResultList = memo(function ResultList({ found, word, onChoose, ref }: Props) {
  const { route, hitIndex, current } = useJobContext();
  const { count } = found;
  // The choice applies to these results only; new ones start at the first.
  const [chosen, setChosen] = useState({ found, at: 0 });
  const marked = chosen.found === found ? chosen.at : 0;
  const scroller = useRef<HTMLDivElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const shown = useRowWindow(scroller, host, RESULT_ROWS);
  const { width } = useElementSize(scroller);
  useLayoutEffect(() => {
    shown.current?.show({
      count,
      active: marked,
      at: (index) => {
        const node = found.at(index) as GraphNode;
        const hits = Math.max(node.hit_count, hitIndex.get(node.name) ?? 0);
        return { node, index, marked: index === marked, current: node.name === current, hits, word, width };
      },
    });
  }, [shown, found, count, marked, word, width, hitIndex, current]);
  const mark = (index: number) => {
    const at = (index + count) % Math.max(1, count);
    setChosen({ found, at });
    shown.current?.reveal(at);
    return found.at(at);
  };
  useImperativeHandle(ref, () => ({
    move: (by) => void mark(marked + by),
    accept: (backwards) => {
      const here = found.at(marked);
      // Pressing Enter again continues with the next result.
      const already = here !== null && here.name === route?.node;
      const node = already ? mark(marked + (backwards ? -1 : 1)) : here;
      if (node !== null) onChoose(node.name);
    },
  }));
  return (
    <div
      ref={scroller}
      className="results-list"
      role="listbox"
      aria-label={searchResults}
      tabIndex={0}
      onClick={(event) => {
        const row = shown.current?.rowOf(event.target as Element);
        if (!row) return;
        setChosen({ found, at: row.index });
        onChoose(row.node.name);
      }}
    >
      <div ref={host} role="presentation" />
    </div>
  );
});
