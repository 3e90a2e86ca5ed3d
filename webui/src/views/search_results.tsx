// Search results, updated with every key.

import { useEffect, useImperativeHandle, useLayoutEffect, useRef, type Ref } from 'react';
import { formatCount } from '../base/format';
import { endMeasure } from '../base/timing';
import { parseQuery } from '../index/query';
import { describe } from '../state/describe';
import { useSearch } from '../state/search';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import * as words from '../words/graph';
import { useJobContext } from './job_context';
import { ResultList, type ResultListHandle } from './result_list';

export interface SearchResultsHandle {
  move(by: number): void;
  // Goes to the marked result; false if the results are not yet those of this text.
  accept(text: string, backwards: boolean): boolean;
}

interface Props {
  query: string;
  // The text for which Enter was pressed before its results arrived. Its first result is
  // chosen when they do.
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
      <Notice title={words.searchFailed} tone="error">
        {describe(search.error)}
      </Notice>
    );
  }
  if (search.problem !== null) return <Notice title={words.invalidSearch}>{search.problem}</Notice>;
  if (found === null) return <Notice title={words.searching} busy />;
  if (found.count === 0) return <Notice title={words.noResults}>{words.nothingMatches(search.text || query)}</Notice>;
  const result = words.results(formatCount(found.count), found.count === 1);
  return (
    <div className="results">
      <div className="results-head" role="status">
        {found.more === null ? result : words.firstResults(result)}
      </div>
      <ResultList ref={list} found={found} word={parseQuery(search.text).words[0] ?? ''} onChoose={onChoose} />
      {found.more !== null && (
        <div className="results-more">
          <Button
            label={words.moreResults}
            small
            pending={found.loadingMore}
            onClick={found.more}
          />
        </div>
      )}
    </div>
  );
}
