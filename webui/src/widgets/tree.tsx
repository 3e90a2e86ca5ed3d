// The node tree: virtual rows, one tab stop, keyboard after the ARIA Authoring
// Practices. The canvas shows the same scopes; this is its accessible form.

import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useId, useMemo, useRef, useState } from 'react';
import type { GraphNode } from '../api/types';
import { plural } from '../base/format';
import { visible } from '../base/visible';
import type { Tick } from '../state/ticks';
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
  // With these, rows have tick boxes.
  ticks?: { at: (name: string) => Tick } | undefined;
  onTick?: (node: GraphNode) => void;
  onSelect: (name: string) => void;
  onToggle: (name: string) => void;
  // Asks what can be done with a node, at a place on the page.
  onMenu?: (node: GraphNode, x: number, y: number) => void;
}

const ARIA_CHECKED = { all: 'true', some: 'mixed', none: 'false' } as const;

const ROW_PX = 24;
const INDENT_PX = 14;
const TYPE_AHEAD_MS = 600;

const rowHeight = () => ROW_PX;

// Rows made above and below those in view.
const OVERSCAN = 6;

export function Tree({ rows, label, selected, current, hits, ticks, onTick, onSelect, onToggle, onMenu }: Props) {
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
    // The same each time: else the places of all rows are worked out in each frame.
    estimateSize: rowHeight,
    overscan: OVERSCAN,
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
    const at = rows[active];
    if (event.key === ' ' && ticks !== undefined && at !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      onTick?.(at.node);
      return;
    }
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
  // Rows that scroll out of view become those that scroll into it: as many as there
  // are at most at once, but for the one with the focus.
  const recycled = Math.ceil((virtual.scrollRect?.height ?? 0) / ROW_PX) + 2 * OVERSCAN + 2;
  const rowId = (index: number) => `${id}-${index}`;
  const newest = useRef({ onTick, onSelect, onToggle, onMenu });
  useEffect(() => {
    newest.current = { onTick, onSelect, onToggle, onMenu };
  });
  const handlers = useMemo<Handlers>(
    () => ({
      tick: (node) => newest.current.onTick?.(node),
      select: (name) => newest.current.onSelect(name),
      toggle: (name) => newest.current.onToggle(name),
      menu: (row, event) => {
        if (newest.current.onMenu === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        setFocused(row.name);
        newest.current.onMenu(row.node, event.clientX, event.clientY);
      },
    }),
    [],
  );

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
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <Item
              key={index === active ? 'active' : index % recycled}
              id={rowId(index)}
              row={row}
              start={start}
              active={index === active}
              selected={row.name === selected}
              current={row.name === current}
              hits={hitsOf(row)}
              tick={ticks?.at(row.name) ?? null}
              handlers={handlers}
            />
          );
        })}
      </div>
    </div>
  );
}

// Handlers that stay the same, so that rows that do not change are not made again.
interface Handlers {
  tick: (node: GraphNode) => void;
  select: (name: string) => void;
  toggle: (name: string) => void;
  menu: (row: TreeRow, event: React.MouseEvent) => void;
}

interface ItemProps {
  id: string;
  row: TreeRow;
  start: number;
  active: boolean;
  selected: boolean;
  current: boolean;
  hits: number;
  // Null: there are no tick boxes.
  tick: Tick | null;
  handlers: Handlers;
}

function sameRow(a: TreeRow, b: TreeRow): boolean {
  return (
    a.node === b.node &&
    a.level === b.level &&
    a.position === b.position &&
    a.siblings === b.siblings &&
    a.open === b.open &&
    a.note === b.note &&
    a.implied === b.implied
  );
}

function sameItem(a: ItemProps, b: ItemProps): boolean {
  return (
    sameRow(a.row, b.row) &&
    a.id === b.id &&
    a.start === b.start &&
    a.active === b.active &&
    a.selected === b.selected &&
    a.current === b.current &&
    a.hits === b.hits &&
    a.tick === b.tick &&
    a.handlers === b.handlers
  );
}

const Item = memo(function Item({ id, row, start, active, selected, current, hits, tick, handlers }: ItemProps) {
  const type = typeOf(row);
  return (
    <div
      id={id}
      role="treeitem"
      aria-label={row.node.label}
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-selected={selected}
      aria-checked={tick === null ? undefined : ARIA_CHECKED[tick]}
      aria-expanded={row.open ?? undefined}
      aria-current={current || undefined}
      aria-description={descriptionOf(row, hits, current)}
      className={`tree-row${active ? ' tree-row-active' : ''}`}
      style={{ transform: `translateY(${start}px)`, paddingLeft: 6 + (row.level - 1) * INDENT_PX }}
      title={row.name}
      onClick={() => handlers.select(row.name)}
      onContextMenu={(event) => handlers.menu(row, event)}
      onDoubleClick={() => row.open !== null && handlers.toggle(row.name)}
    >
      <Chevron row={row} onToggle={handlers.toggle} />
      {tick !== null && (
        <span
          className={`tree-tick tree-tick-${tick}`}
          aria-hidden
          onClick={(event) => {
            event.stopPropagation();
            handlers.tick(row.node);
          }}
          onDoubleClick={(event) => event.stopPropagation()}
        />
      )}
      <KindIcon kind={row.node.kind} category={row.node.category} />
      <span className="tree-label mono ellipsis">{visible(row.node.label)}</span>
      {type !== '' && <span className="tree-type ellipsis" data-text={visible(type)} aria-hidden />}
      {(current || hits > 0 || row.node.watched !== 'none') && (
        <span className="tree-marks" aria-hidden>
          <NodeMarks hits={hits} watched={row.node.watched} current={current} implied={row.implied} />
        </span>
      )}
    </div>
  );
}, sameItem);

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
    />
  );
}
