// The node tree: the accessible form of the graph, with the same open scopes. It has one tab
// stop and the keyboard interaction of the ARIA Authoring Practices.

import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { GraphNode } from '../api/types';
import type { Tick } from '../state/ticks';
import { treeKey, typeAhead, type TreeRow } from './tree_rows';
import { useRowWindow, type RowKind } from './row_window';
import { ROW_PX, TreeRowView, type ShownRow } from './tree_row_view';
import './node_marks.css';
import './kind_icon.css';
import './tree.css';

interface Props {
  rows: readonly TreeRow[];
  label: string;
  selected: string | null;
  current: string | null;
  hits: ReadonlyMap<string, number>;
  // If given, rows have tick boxes.
  ticks?: { at: (name: string) => Tick } | undefined;
  onTick?: (node: GraphNode) => void;
  onSelect: (name: string) => void;
  onToggle: (name: string) => void;
  // Opens the menu of a node at a position on the page.
  onMenu?: (node: GraphNode, x: number, y: number) => void;
}

const TREE_ROWS: RowKind<ShownRow> = { height: ROW_PX, make: () => new TreeRowView() };
const TYPE_AHEAD_MS = 600;
const SHORTCUTS = 'ano';

export function Tree({ rows, label, selected, current, hits, ticks, onTick, onSelect, onToggle, onMenu }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const shown = useRowWindow(scroller, host, TREE_ROWS);
  const id = useId();
  const [focused, setFocused] = useState<string | null>(null);
  const typed = useRef({ text: '', at: 0 });
  const wanted = focused ?? selected;
  const active = useMemo(
    () => Math.max(0, rows.findIndex((row) => row.name === wanted)),
    [rows, wanted],
  );
  const selectedIndex = useMemo(
    () => (selected === null ? -1 : rows.findIndex((row) => row.name === selected)),
    [rows, selected],
  );
  const rowId = (index: number) => `${id}-${index}`;
  useLayoutEffect(() => {
    shown.current?.show({
      count: rows.length,
      active,
      at: (index) => {
        const row = rows[index] as TreeRow;
        const { name, node } = row;
        return {
          row,
          index,
          id: index === active ? `${id}-${index}` : null,
          selected: name === selected,
          current: name === current,
          hits: Math.max(node.hit_count, hits.get(name) ?? 0),
          tick: ticks?.at(name) ?? null,
        };
      },
    });
  }, [shown, rows, active, selected, current, hits, ticks, id]);
  useEffect(() => setFocused(selected), [selected]);
  useEffect(() => {
    if (selectedIndex >= 0) shown.current?.reveal(selectedIndex);
  }, [selectedIndex, shown]);

  const focus = (index: number) => {
    setFocused(rows[index]?.name ?? null);
    shown.current?.reveal(index);
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
      if (event.key.length !== 1 || '[].,?'.includes(event.key) || rows.length === 0) return;
      const { text, at } = typed.current;
      const goesOn = event.timeStamp - at < TYPE_AHEAD_MS;
      // Shortcuts that work everywhere. As the first letter of a label they do not find a row.
      if (!goesOn && SHORTCUTS.includes(event.key.toLowerCase())) return;
      const next = goesOn ? text + event.key : event.key;
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
  // The row and the part of it that was clicked. Rows have no listeners of their own.
  const clicked = (event: React.MouseEvent) => {
    const element = event.target as Element;
    const part = element.closest('.tree-tick') ? 'tick' : element.closest('.tree-chevron-button') ? 'chevron' : 'row';
    const row = shown.current?.rowOf(element)?.row ?? null;
    return row === null ? null : { row, part };
  };
  const onClick = (event: React.MouseEvent) => {
    const at = clicked(event);
    if (at?.part === 'tick') onTick?.(at.row.node);
    else if (at?.part === 'chevron') onToggle(at.row.name);
    else if (at !== null) onSelect(at.row.name);
  };
  const onDoubleClick = (event: React.MouseEvent) => {
    const at = clicked(event);
    if (at?.part === 'row' && at.row.open !== null) onToggle(at.row.name);
  };
  // The menu key opens the menu of the row that has the focus.
  const onContextMenu = (event: React.MouseEvent) => {
    const row = clicked(event)?.row;
    const element = scroller.current?.querySelector('.tree-row-active');
    const focusedRow = rows[active];
    if (onMenu === undefined) return;
    if (row !== undefined) {
      event.preventDefault();
      setFocused(row.name);
      onMenu(row.node, event.clientX, event.clientY);
    } else if (focusedRow !== undefined && element) {
      event.preventDefault();
      const place = element.getBoundingClientRect();
      onMenu(focusedRow.node, place.left + 40, place.bottom);
    }
  };

  return (
    <div
      ref={scroller}
      className="tree"
      role="tree"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={rows.length > 0 ? rowId(active) : undefined}
      onKeyDown={onKeyDown}
      onClick={onClick}
      onDoubleClick={onDoubleClick}
      onContextMenu={onContextMenu}
    >
      <div ref={host} role="presentation" />
    </div>
  );
}
