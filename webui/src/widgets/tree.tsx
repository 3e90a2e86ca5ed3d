// The node tree: virtual rows, one tab stop, keyboard after the ARIA Authoring
// Practices. The canvas shows the same scopes; this is its accessible form.

import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { ChevronRight } from 'lucide-react';
import { useEffect, useId, useMemo, useRef, useState } from 'react';
import type { GraphNode } from '../api/types';
import { plural } from '../base/format';
import { visible } from '../base/visible';
import { KindIcon } from './kind_icon';
import { NodeMarks } from './node_marks';
import { Spinner } from './spinner';
import { treeKey, typeAhead, type TreeRow } from './tree_rows';
import './tree.css';

interface Props {
  rows: readonly TreeRow[];
  label: string;
  selected: string | null;
  current: string | null;
  hits: ReadonlyMap<string, number>;
  onSelect: (name: string) => void;
  onToggle: (name: string) => void;
  // Asks what can be done with a node, at a place on the page.
  onMenu?: (node: GraphNode, x: number, y: number) => void;
}

const ROW_PX = 24;
const INDENT_PX = 14;
const TYPE_AHEAD_MS = 600;

export function Tree({ rows, label, selected, current, hits, onSelect, onToggle, onMenu }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const id = useId();
  const [focused, setFocused] = useState<string | null>(null);
  const typed = useRef({ text: '', at: 0 });
  const wanted = focused ?? selected;
  const active = useMemo(
    () => Math.max(0, rows.findIndex((row) => row.name === wanted)),
    [rows, wanted],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    getItemKey: (index) => rows[index]?.name ?? index,
    // The row that has the focus must exist, even if it is scrolled away.
    rangeExtractor: (range) => {
      const shown = defaultRangeExtractor(range);
      return active < rows.length && !shown.includes(active)
        ? [...shown, active].sort((a, b) => a - b)
        : shown;
    },
  });

  const selectedIndex = useMemo(
    () => (selected === null ? -1 : rows.findIndex((row) => row.name === selected)),
    [rows, selected],
  );
  useEffect(() => setFocused(selected), [selected]);
  useEffect(() => {
    if (selectedIndex >= 0) virtual.scrollToIndex(selectedIndex, { align: 'auto' });
  }, [selectedIndex, virtual]);

  const focus = (index: number) => {
    setFocused(rows[index]?.name ?? null);
    virtual.scrollToIndex(index, { align: 'auto' });
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = treeKey(rows, active, event.key);
    if (action === null) {
      // Brackets, dot and comma walk the graph.
      if (event.key.length !== 1 || '[].,'.includes(event.key) || rows.length === 0) return;
      const { text, at } = typed.current;
      const next = event.timeStamp - at < TYPE_AHEAD_MS ? text + event.key : event.key;
      typed.current = { text: next, at: event.timeStamp };
      event.stopPropagation();
      focus(typeAhead(rows, active, next));
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    if (action.kind === 'focus') focus(action.index);
    if (action.kind === 'toggle') onToggle(action.name);
    if (action.kind === 'select') {
      if (action.name === selected && rows[active]?.open !== null) onToggle(action.name);
      onSelect(action.name);
    }
  };
  const hitsOf = (row: TreeRow) => Math.max(row.node.hit_count, hits.get(row.name) ?? 0);
  const rowId = (index: number) => `${id}-${index}`;

  return (
    <div
      ref={scroller}
      className="tree"
      role="tree"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={rows.length > 0 ? rowId(active) : undefined}
      onKeyDown={onKeyDown}
      onContextMenu={(event) => {
        // The menu key asks about the row that has the focus.
        const element = scroller.current?.querySelector('.tree-row-active');
        const row = rows[active];
        if (onMenu === undefined || row === undefined || !element) return;
        event.preventDefault();
        const place = element.getBoundingClientRect();
        onMenu(row.node, place.left + 40, place.bottom);
      }}
    >
      <div role="presentation" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <div
              key={key}
              id={rowId(index)}
              role="treeitem"
              aria-label={row.node.label}
              aria-level={row.level}
              aria-posinset={row.position}
              aria-setsize={row.siblings}
              aria-selected={row.name === selected}
              aria-expanded={row.open ?? undefined}
              aria-current={row.name === current || undefined}
              aria-description={descriptionOf(row, hitsOf(row), row.name === current)}
              className={`tree-row${index === active ? ' tree-row-active' : ''}`}
              style={{
                transform: `translateY(${start}px)`,
                paddingLeft: 6 + (row.level - 1) * INDENT_PX,
              }}
              title={row.name}
              onClick={() => onSelect(row.name)}
              onContextMenu={(event) => {
                if (onMenu === undefined) return;
                event.preventDefault();
                event.stopPropagation();
                setFocused(row.name);
                onMenu(row.node, event.clientX, event.clientY);
              }}
              onDoubleClick={() => row.open !== null && onToggle(row.name)}
            >
              <Chevron row={row} onToggle={onToggle} />
              <KindIcon kind={row.node.kind} category={row.node.category} />
              <span className="tree-label mono ellipsis">{visible(row.node.label)}</span>
              <span className="tree-type ellipsis" data-text={typeOf(row)} aria-hidden />
              <span aria-hidden>
                <NodeMarks
                  hits={hitsOf(row)}
                  watched={row.node.watched}
                  current={row.name === current}
                  implied={row.implied}
                />
              </span>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function typeOf({ node, note }: TreeRow): string {
  if (note === 'failed') return 'could not be loaded';
  if (node.kind === 'scope') return node.op_type;
  return node.kind === 'op' ? '' : node.kind;
}

// What is seen beside the label, in words.
function descriptionOf(row: TreeRow, hits: number, current: boolean): string {
  const parts = [typeOf(row)];
  if (current) parts.push('the job stands here');
  if (row.node.watched !== 'none') parts.push(row.node.watched === 'all' ? 'watched' : 'partly watched');
  if (hits > 0) parts.push(plural(hits, 'hit'));
  return parts.filter((part) => part !== '').join(', ');
}

function Chevron({ row, onToggle }: { row: TreeRow; onToggle: (name: string) => void }) {
  if (row.open === null) return <span className="tree-chevron" />;
  if (row.note === 'loading') {
    return (
      <span className="tree-chevron">
        <Spinner />
      </span>
    );
  }
  return (
    <span
      className={`tree-chevron tree-chevron-button${row.open ? ' tree-chevron-open' : ''}`}
      aria-hidden
      onClick={(event) => {
        event.stopPropagation();
        onToggle(row.name);
      }}
      onDoubleClick={(event) => event.stopPropagation()}
    >
      <ChevronRight size={14} />
    </span>
  );
}
