// Found nodes as virtual rows, one of them marked.

import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useImperativeHandle, useRef, useState, type Ref } from 'react';
import type { GraphNode } from '../api/types';
import type { Found } from '../state/search';
import { FullName } from '../widgets/full_name';
import { KindIcon } from '../widgets/kind_icon';
import { NodeMarks } from '../widgets/node_marks';
import { useJobContext } from './job_context';

const ROW_PX = 26;

export interface ResultListHandle {
  move(by: number): void;
  // Goes to the marked result; again: marks the next (or the one before) and goes there.
  accept(backwards: boolean): void;
}

interface Props {
  found: Found;
  // What is marked in the names.
  word: string;
  onChoose: (name: string) => void;
  ref: Ref<ResultListHandle>;
}

function Result({ node, word }: { node: GraphNode; word: string }) {
  const { hitIndex, current } = useJobContext();
  return (
    <>
      <KindIcon kind={node.kind} category={node.category} />
      <span className="grow">
        <FullName name={node.name} mark={word} />
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

// Made anew when other nodes are found, not with every key.
export const ResultList = memo(function ResultList({ found, word, onChoose, ref }: Props) {
  const { route } = useJobContext();
  const { count } = found;
  // Of this finding alone: another begins at its first result.
  const [chosen, setChosen] = useState({ found, at: 0 });
  const marked = chosen.found === found ? chosen.at : 0;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 4,
  });
  const mark = (index: number) => {
    const at = (index + count) % Math.max(1, count);
    setChosen({ found, at });
    virtual.scrollToIndex(at, { align: 'auto' });
    return found.at(at);
  };
  useImperativeHandle(ref, () => ({
    move: (by) => void mark(marked + by),
    accept: (backwards) => {
      const here = found.at(marked);
      // Enter again goes on to the next result.
      const already = here !== null && here.name === route?.node;
      const node = already ? mark(marked + (backwards ? -1 : 1)) : here;
      if (node !== null) onChoose(node.name);
    },
  }));
  return (
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
                setChosen({ found, at: index });
                onChoose(node.name);
              }}
            >
              <Result node={node} word={word} />
            </div>
          );
        })}
      </div>
    </div>
  );
});
