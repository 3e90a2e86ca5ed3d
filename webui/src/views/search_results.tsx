// Nodes that meet the text, while it is typed.

import { useEffect, useImperativeHandle, useLayoutEffect, useRef, type Ref } from 'react';
import { describe } from '../api/problem';
import { formatCount } from '../base/format';
import { endMeasure } from '../base/timing';
import { parseQuery } from '../index/query';
import { useSearch } from '../state/search';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { useJobContext } from './job_context';
import { ResultList, type ResultListHandle } from './result_list';

export interface SearchResultsHandle {
  move(by: number): void;
  // Goes to the marked result; false: what is found is not of this text yet.
  accept(text: string, backwards: boolean): boolean;
}

interface Props {
  query: string;
  // The text that Enter was pressed on before its results were there: its first result
  // is chosen when they are.
  entered: string | null;
  onChoose: (name: string) => void;
  ref: Ref<SearchResultsHandle>;
}

export function SearchResults({ query, entered, onChoose, ref }: Props) {
  const { id } = useJobContext();
  const search = useSearch(id, query);
  const list = useRef<ResultListHandle>(null);
  const { found } = search;
  const answered = found !== null && search.text === query;
  useLayoutEffect(() => {
    if (answered) endMeasure('graphdbg:search');
  }, [answered, found]);
  const first = answered && entered === query ? (found.at(0)?.name ?? null) : null;
  useEffect(() => {
    if (first !== null) onChoose(first);
  }, [first, onChoose]);
  useImperativeHandle(ref, () => ({
    move: (by) => list.current?.move(by),
    accept: (text, backwards) => {
      if (!answered || text !== query) return false;
      list.current?.accept(backwards);
      return true;
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
  if (found.count === 0) return <Notice title="No node matches">Nothing is found for “{search.text || query}”. Words are parts of names or op types; all must be met.</Notice>;
  const result = `${formatCount(found.count)} ${found.count === 1 ? 'result' : 'results'}`;
  return (
    <div className="results">
      <div className="results-head" role="status">
        {found.more === null ? result : `First ${result}`}
      </div>
      <ResultList ref={list} found={found} word={parseQuery(search.text).words[0] ?? ''} onChoose={onChoose} />
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
