// Left: search and the tree of nodes.

import { ChevronsDownUp, ChevronsUpDown, Search, X } from 'lucide-react';
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { formatCount } from '../base/format';
import { beginMeasure } from '../base/timing';
import { useJob } from '../state/job_store';
import { useNodeCount } from '../state/queries';
import { closeAll, openAll, retryScope, revealNode, selectNode, toggleScope, useScopes } from '../state/scopes';
import { openNodeMenu, touch } from '../state/ui';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { Panel } from '../widgets/panel';
import { Tree } from '../widgets/tree';
import { buildRows } from '../widgets/tree_rows';
import { useJobContext, useOpenScopes } from './job_context';
import { SearchResults, type SearchResultsHandle } from './search_results';
import './tree_panel.css';

function NodeTree() {
  const { route, hitIndex, current } = useJobContext();
  const open = useOpenScopes();
  const views = useScopes((state) => state.views);
  const errors = useScopes((state) => state.errors);
  const rows = useMemo(() => buildRows(open, views, errors), [open, views, errors]);
  const problem = errors.get('');
  if (problem !== undefined && rows.length === 0) {
    return (
      <Notice title="The graph could not be loaded" tone="error">
        <p>{problem}</p>
        <Button label="Try again" onClick={() => retryScope('')} />
      </Notice>
    );
  }
  if (!views.has('')) return <Notice title="Loading the graph" busy />;
  if (rows.length === 0) {
    return (
      <Notice title="No nodes yet">
        <p>They appear while the first step runs.</p>
      </Notice>
    );
  }
  return (
    <Tree
      rows={rows}
      label="Nodes"
      selected={route?.node ?? null}
      current={current}
      hits={hitIndex}
      onSelect={(name) => {
        touch();
        selectNode(name);
      }}
      onToggle={(name) => {
        touch();
        if (errors.has(name)) retryScope(name);
        toggleScope(name);
      }}
      onMenu={(node, x, y) => openNodeMenu({ node: node.name, kind: node.kind, x, y })}
    />
  );
}

export function TreePanel() {
  const [text, setText] = useState('');
  const query = useDeferredValue(text.trim());
  const input = useRef<HTMLInputElement>(null);
  const results = useRef<SearchResultsHandle>(null);
  const { id } = useJobContext();
  const graphVersion = useJob((state) => state.model.graph_version);
  const nodeCount = useNodeCount(id, graphVersion) ?? 0;

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const find = event.key.toLowerCase() === 'f' && (event.ctrlKey || event.metaKey);
      const target = event.target as HTMLElement;
      const typing = target.matches('input, select, textarea');
      const slash = event.key === '/' && !typing && !event.ctrlKey && !event.metaKey;
      if (!find && !slash) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);

  return (
    <Panel
      title="Nodes"
      count={nodeCount > 0 ? formatCount(nodeCount) : undefined}
      className="tree-panel"
      actions={
        <>
        <Button
          label="Open all scopes"
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
          label="Close all scopes"
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
          aria-label="Search nodes"
          placeholder="Search nodes  /"
          spellCheck={false}
          autoComplete="off"
          value={text}
          onChange={(event) => {
            beginMeasure('graphdbg:search');
            setText(event.target.value);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') setText('');
            else if (event.key === 'ArrowDown') results.current?.move(1);
            else if (event.key === 'ArrowUp') results.current?.move(-1);
            else if (event.key === 'Enter') results.current?.accept(event.shiftKey);
            else return;
            event.preventDefault();
          }}
        />
        {text !== '' && (
          <button
            type="button"
            className="search-clear"
            aria-label="Clear search"
            onClick={() => {
              setText('');
              input.current?.focus();
            }}
          >
            <X aria-hidden size={14} />
          </button>
        )}
      </div>
      <div className="tree-panel-body">
        {query === '' ? (
          <NodeTree />
        ) : (
          <SearchResults
            ref={results}
            query={query}
            onChoose={(name) => {
              touch();
              revealNode(name);
            }}
          />
        )}
      </div>
    </Panel>
  );
}
