// The panel on the left: search and the node tree.

import { ChevronsDownUp, ChevronsUpDown, FileCode, Search, X } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { formatCount } from '../base/format';
import { beginMeasure } from '../base/timing';
import { isTextField } from '../base/typing';
import { namesOf } from '../index/coverage';
import { IndexViews } from '../index/index_views';
import { isSourceGroup, placesOf, sourceHits, sourcePath, SourceViews } from '../index/source_views';
import { useShownGraph } from '../state/graphs';
import { graphLoader } from '../state/graph_loader';
import { useSelectionPreview } from '../state/selection_preview';
import { useCode } from '../state/queries';
import { setSearchText, useSearchText } from '../state/search_text';
import { closeAll, openAll, revealNode, selectNode, toggleScope, useScopes } from '../state/scopes';
import { Ticks } from '../state/ticks';
import { openNodeMenu, setTall, setTicked, touch, useUi } from '../state/ui';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { Panel } from '../widgets/panel';
import { Tree } from '../widgets/tree';
import { buildRows } from '../widgets/tree_rows';
import { tryAgain } from '../words/common';
import * as words from '../words/graph';
import { useJobContext, useOpenScopes } from './job_context';
import { SearchResults, type SearchResultsHandle } from './search_results';
import './tree_panel.css';

function NodeTree() {
  const { route, hitIndex, current } = useJobContext();
  const open = useOpenScopes();
  const views = useScopes((state) => state.views);
  const errors = useScopes((state) => state.errors);
  const rows = useMemo(() => buildRows(open, views, errors), [open, views, errors]);
  const form = useUi((state) => state.watch_form);
  const index = useScopes((state) => state.index);
  const { covered } = useSelectionPreview();
  // The selection that the form describes is shown as ticks, and the user's own ticks
  // start from it.
  const preview = covered !== null && covered.index === index ? covered : null;
  const ticks = useMemo(() => {
    if (form === null) return undefined;
    if (preview === null) return Ticks.of(form.ticked);
    return { at: (name: string) => preview.watched.of(preview.index.find(name)) };
  }, [form, preview]);
  const problem = errors.get('');
  if (problem !== undefined && rows.length === 0) {
    return (
      <Notice title={words.graphNotLoaded} tone="error">
        <p>{problem}</p>
        <Button label={tryAgain} onClick={() => graphLoader.retryScope('')} />
      </Notice>
    );
  }
  if (!views.has('')) return <Notice title={words.loadingGraph} busy />;
  if (rows.length === 0) {
    return (
      <Notice title={words.noNodes}>
        <p>{words.nodesAppear}</p>
      </Notice>
    );
  }
  return (
    <Tree
      rows={rows}
      label={words.nodes}
      selected={route?.node ?? null}
      current={current}
      hits={hitIndex}
      ticks={ticks}
      onTick={(node) => {
        touch();
        const from = Ticks.of(preview === null ? (form?.ticked ?? null) : namesOf(preview));
        setTicked(from.toggle(node, (scope) => views.get(scope)?.nodes).lists());
      }}
      onSelect={(name) => {
        touch();
        selectNode(name);
      }}
      onToggle={(name) => {
        touch();
        if (errors.has(name)) graphLoader.retryScope(name);
        toggleScope(name);
      }}
      onMenu={(node, x, y) => openNodeMenu({ node: node.name, kind: node.kind, x, y })}
    />
  );
}

const NO_ERRORS: ReadonlyMap<string, string> = new Map();

// The same nodes grouped by the source line that created them. This tree has its own set
// of open rows; the rows around the selected node open by themselves.
function SourceTree({ views }: { views: IndexViews }) {
  const { id, route, hitIndex, current } = useJobContext();
  const selected = route?.node ?? null;
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const code = useCode(id, useMemo(() => placesOf(views.index), [views]));
  const groups = useMemo(() => new SourceViews(views.index, views.watched, code), [views, code]);
  const hits = useMemo(() => sourceHits(views.index, hitIndex), [views, hitIndex]);
  const rows = useMemo(() => {
    const files = groups.get('')?.nodes ?? [];
    const open = new Set(selected === null ? [] : sourcePath(views.index, selected));
    if (files.length <= 3) for (const file of files) open.add(file.name);
    for (const [name, isOpen] of chosen) {
      if (isOpen) open.add(name);
      else open.delete(name);
    }
    return buildRows(open, groups, NO_ERRORS);
  }, [groups, chosen, selected, views]);
  const toggle = (name: string) => {
    touch();
    const isOpen = rows.find((row) => row.name === name)?.open === true;
    setChosen((before) => new Map(before).set(name, !isOpen));
  };
  if (rows.length === 0) {
    return (
      <Notice title={words.noSourceLines}>
        <p>{words.noSourceLocations}</p>
      </Notice>
    );
  }
  return (
    <Tree
      rows={rows}
      label={words.nodesBySource}
      selected={selected}
      current={current}
      hits={hits}
      onSelect={(name) => {
        if (isSourceGroup(name)) {
          toggle(name);
          return;
        }
        touch();
        revealNode(name);
      }}
      onToggle={toggle}
      onMenu={(node, x, y) => {
        if (!isSourceGroup(node.name)) openNodeMenu({ node: node.name, kind: node.kind, x, y });
      }}
    />
  );
}

function isSearchKey(event: KeyboardEvent): boolean {
  const command = event.ctrlKey || event.metaKey;
  if (event.key.toLowerCase() === 'f' && command) return true;
  // A dialog keeps the focus.
  const inDialog = event.target instanceof Element && event.target.closest('dialog') !== null;
  return event.key === '/' && !command && !inDialog && !isTextField(event.target);
}

export function TreePanel() {
  const [bySource, setBySource] = useState(false);
  const views = useScopes((state) => state.views);
  const whole = views instanceof IndexViews;
  const ticking = useUi((state) => state.watch_form !== null);
  const text = useSearchText((state) => state.text);
  const [entered, setEntered] = useState<string | null>(null);
  const query = text.trim();
  const input = useRef<HTMLInputElement>(null);
  const results = useRef<SearchResultsHandle>(null);
  const { id } = useJobContext();
  // The text belongs to this job's graph.
  useEffect(() => () => setSearchText(''), [id]);
  const nodeCount = useShownGraph(id)?.node_count ?? 0;
  const choose = useCallback((name: string) => {
    setEntered(null);
    touch();
    revealNode(name);
  }, []);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!isSearchKey(event)) return;
      event.preventDefault();
      event.stopPropagation();
      // The field cannot take the focus while it is hidden, so render at once.
      if (useUi.getState().tall) flushSync(() => setTall(false));
      input.current?.focus();
      input.current?.select();
    };
    // Before the tree and the grids, which use the keys that they get.
    window.addEventListener('keydown', onKey, { capture: true });
    return () => window.removeEventListener('keydown', onKey, { capture: true });
  }, []);

  return (
    <Panel
      title={words.nodes}
      count={nodeCount > 0 ? formatCount(nodeCount) : undefined}
      className="tree-panel"
      actions={
        <>
        <Button
          label={words.groupBySource}
          icon={FileCode}
          iconOnly
          small
          tone="quiet"
          pressed={bySource && !ticking}
          disabledReason={ticking ? words.groupedByScope : whole ? undefined : words.graphIncomplete}
          onClick={() => setBySource(!bySource)}
        />
        <Button
          label={words.openAllScopes}
          icon={ChevronsUpDown}
          iconOnly
          small
          tone="quiet"
          onClick={() => {
            touch();
            openAll();
          }}
        />
        <Button
          label={words.closeAllScopes}
          icon={ChevronsDownUp}
          iconOnly
          small
          tone="quiet"
          onClick={() => {
            touch();
            closeAll();
          }}
        />
        </>
      }
    >
      <div className="search">
        <Search aria-hidden size={14} />
        <input
          ref={input}
          className="field"
          type="search"
          role="searchbox"
          aria-label={words.searchNodes}
          placeholder={words.searchPlaceholder}
          spellCheck={false}
          autoComplete="off"
          value={text}
          onChange={(event) => {
            beginMeasure('graphdbg:search');
            setSearchText(event.target.value);
            setEntered(null);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') setSearchText('');
            else if (event.key === 'ArrowDown') results.current?.move(1);
            else if (event.key === 'ArrowUp') results.current?.move(-1);
            else if (event.key === 'Enter') {
              const done = results.current?.accept(text.trim(), event.shiftKey) ?? false;
              if (!done) setEntered(text.trim());
            } else return;
            event.preventDefault();
          }}
        />
        {text !== '' && (
          <button
            type="button"
            className="search-clear"
            aria-label={words.clearSearch}
            onClick={() => {
              setSearchText('');
              input.current?.focus();
            }}
          >
            <X aria-hidden size={14} />
          </button>
        )}
      </div>
      {text === '' && (
        <p className="search-hint muted">
          {words.searchHint}
          <code>train.py:12</code>, <code>type:</code> <code>category:</code>{' '}
          <code>kind:</code> <code>/pattern/</code>
        </p>
      )}
      <div className="tree-panel-body">
        {query === '' ? (
          bySource && !ticking && views instanceof IndexViews ? (
            <SourceTree views={views} />
          ) : (
            <NodeTree />
          )
        ) : (
          <SearchResults
            ref={results}
            query={query}
            entered={entered}
            onChoose={choose}
          />
        )}
      </div>
    </Panel>
  );
}
