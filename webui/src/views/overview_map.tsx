// The picture: one row per module or group, one column per step.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { NOT_FINITE } from '../overview/matrix';
import type { Row } from '../overview/rows';
import { columnAt, panSpan, pixelsPerColumn, placeOf, revealColumn, wholeSpan, zoomSpan, type Frame, type Span } from '../overview/span';
import { goToModule } from '../state/overview_store';
import { useElementSize } from '../widgets/use_size';
import * as words from '../words/overview';
import { OVERVIEW_BODY, ZOOM } from './overview_head';
import { hover, useHovered, type Cell } from './overview_hover';
import { OverviewPainter, readTheme } from './overview_painter';
import { cellText, rowName, type Shown } from './overview_shown';
import { useTheme } from './use_theme';

interface Props {
  shown: Shown;
  span: Span;
  frame: Frame;
  // All rows are in view, as far as they can be.
  fitted: boolean;
  cursor: Cell | null;
  // Path of the selected node without its phase.
  selected: string | null;
  onCursor: (cell: Cell) => void;
  onSpan: (change: (span: Span) => Span) => void;
  onToggle: (row: Row) => void;
  onDetail: (row: Row) => void;
}

const ROW_PX = 16;
const LEAST_PX = 2;
const DRAG_PX = 3;
const WHEEL_ZOOM = 1.0015;

function summarise({ data, rows, levels }: Shown): string {
  const { columns, levels: all } = levels;
  const bad = rows.map((_, row) => all.subarray(row * columns, (row + 1) * columns).indexOf(NOT_FINITE));
  const found = bad.filter((column) => column >= 0);
  const head = words.pictureOf(words.measureTexts[data.measure], data.modules.length, rows.length, columns);
  if (found.length === 0) return `${head} ${words.noneBad}`;
  const earliest = Math.min(...found);
  const row = rows[bad.indexOf(earliest)] as Row;
  return `${head} ${words.firstBad(rowName(row), data.steps[earliest]?.step ?? 0, found.length)}`;
}

export function OverviewMap({ shown, span, frame, fitted, cursor, selected, onCursor, onSpan, onToggle, onDetail }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useElementSize(scroller);
  const theme = useTheme(scroller, readTheme);
  const [top, setTop] = useState(0);
  const [said, setSaid] = useState('');
  const { rows, labels, classes, levels, data } = shown;
  const columns = data.steps.length;
  const rowHeight = fitted ? Math.min(ROW_PX, Math.max(LEAST_PX, size.height / rows.length)) : ROW_PX;
  const painter = useMemo(() => (theme === null ? null : new OverviewPainter({ rows, labels, classes, levels }, theme)), [rows, labels, classes, levels, theme]);

  const summary = useMemo(() => summarise(shown), [shown]);

  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || painter === null || size.width === 0) return;
    const ratio = window.devicePixelRatio;
    const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (element.width !== width) element.width = width;
    if (element.height !== height) element.height = height;
    painter.draw(context, { width: size.width, height: size.height, top, rowHeight, frame, span, cursor, selected });
  }, [painter, size, top, rowHeight, frame, span, cursor, selected]);

  // In the listener below, which is added once.
  const latest = useRef({ frame, columns, onSpan, span });
  useEffect(() => {
    latest.current = { frame, columns, onSpan, span };
  });
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const onWheel = (event: WheelEvent) => {
      const { frame, columns, onSpan, span } = latest.current;
      const across = event.shiftKey ? event.deltaY : event.deltaX;
      const scrolls = element.scrollHeight > element.clientHeight;
      if (!event.ctrlKey && Math.abs(across) > (event.shiftKey ? 0 : Math.abs(event.deltaY))) {
        onSpan((now) => panSpan(now, across / pixelsPerColumn(now, frame), columns));
      } else if (event.ctrlKey || !scrolls) {
        const x = event.clientX - element.getBoundingClientRect().left;
        const place = Math.min(span.to, Math.max(span.from, columnAt(x, span, frame)));
        onSpan((now) => zoomSpan(now, WHEEL_ZOOM ** -event.deltaY, place, columns));
      } else return;
      event.preventDefault();
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, []);

  const drag = useRef<{ x: number; y: number; span: Span; top: number; dragging: boolean } | null>(null);
  // The cell under the pointer; its column is -1 on the labels.
  const under = (event: React.PointerEvent): Cell & { x: number; y: number } => {
    const box = event.currentTarget.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const row = Math.floor((y + top) / rowHeight);
    const column = x < frame.left ? -1 : Math.min(columns - 1, Math.floor(columnAt(x, span, frame)));
    return { row: row < rows.length ? row : -1, column, x, y };
  };
  const open = ({ row, column }: Cell) => {
    const found = rows[row];
    const step = data.steps[column]?.step;
    if (found !== undefined && step !== undefined) goToModule(found.path, step);
  };
  const move = (cell: Cell) => {
    const next = {
      row: Math.min(rows.length - 1, Math.max(0, cell.row)),
      column: Math.min(columns - 1, Math.max(0, cell.column)),
    };
    onCursor(next);
    const element = scroller.current;
    const y = next.row * rowHeight;
    if (element !== null && y < element.scrollTop) element.scrollTop = y;
    else if (element !== null && y + rowHeight > element.scrollTop + size.height) element.scrollTop = y + rowHeight - size.height;
    const x = placeOf(next.column + 0.5, revealColumn(span, next.column, columns), frame);
    hover(next, x, y + rowHeight - (element?.scrollTop ?? 0) + (element?.offsetTop ?? 0));
    const row = rows[next.row];
    if (row !== undefined) setSaid(`${rowName(row)}, ${words.step(data.steps[next.column]?.step ?? 0)}: ${cellText(shown, row, next.column)}`);
  };

  const onKey = (event: React.KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { row, column } = cursor ?? { row: 0, column: columns - 1 };
    const page = Math.max(1, Math.floor(size.height / rowHeight) - 1);
    const by = event.shiftKey ? 10 : 1;
    const to: Partial<Record<string, Cell>> = {
      ArrowUp: { row: row - by, column },
      ArrowDown: { row: row + by, column },
      ArrowLeft: { row, column: column - by },
      ArrowRight: { row, column: column + by },
      PageUp: { row: row - page, column },
      PageDown: { row: row + page, column },
      Home: { row, column: 0 },
      End: { row, column: columns - 1 },
    };
    const next = to[event.key];
    const here = rows[row];
    // The first arrow key shows where the cursor is.
    if (next !== undefined) move(cursor === null && event.key.startsWith('Arrow') ? { row, column } : next);
    else if (event.key === 'Enter') open({ row, column });
    else if (event.key === ' ' && here !== undefined) onToggle(here);
    else if (event.key === 'd' && here !== undefined) onDetail(here);
    else if (event.key === '+' || event.key === '=') onSpan((now) => zoomSpan(now, ZOOM, column + 0.5, columns));
    else if (event.key === '-') onSpan((now) => zoomSpan(now, 1 / ZOOM, column + 0.5, columns));
    else if (event.key === '0') onSpan(() => wholeSpan(columns));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <>
      <div
        ref={scroller}
        className="overview-map"
        id={OVERVIEW_BODY}
        role="group"
        aria-label={words.modulesOverSteps}
        aria-description={words.pictureKeys}
        tabIndex={0}
        onScroll={(event) => {
          setTop(event.currentTarget.scrollTop);
          // Another cell is under the pointer now.
          const { cell } = useHovered.getState();
          if (cell?.row !== cursor?.row || cell?.column !== cursor?.column) hover(null);
        }}
        onKeyDown={onKey}
        onBlur={() => hover(null)}
        onPointerDown={(event) => {
          if (event.button !== 0 || event.clientX > event.currentTarget.getBoundingClientRect().left + event.currentTarget.clientWidth) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          drag.current = { x: event.clientX, y: event.clientY, span, top, dragging: false };
        }}
        onPointerMove={(event) => {
          const start = drag.current;
          const { row, column, x, y } = under(event);
          if (start === null) {
            hover(row < 0 && column < 0 ? null : { row, column }, x, y + event.currentTarget.offsetTop);
            return;
          }
          const [dx, dy] = [event.clientX - start.x, event.clientY - start.y];
          if (!start.dragging && Math.hypot(dx, dy) < DRAG_PX) return;
          start.dragging = true;
          hover(null);
          event.currentTarget.scrollTop = start.top - dy;
          onSpan(() => panSpan(start.span, -dx / pixelsPerColumn(start.span, frame), columns));
        }}
        onPointerUp={(event) => {
          const start = drag.current;
          drag.current = null;
          const cell = under(event);
          const row = rows[cell.row];
          if (start === null || start.dragging || row === undefined) return;
          if (cell.column >= 0) {
            onCursor(cell);
            open(cell);
          } else if (row.folded === null) onDetail(row);
          else onToggle(row);
        }}
        onPointerLeave={() => hover(null)}
      >
        <canvas ref={canvas} role="img" aria-label={summary} />
        <div className="overview-space" style={{ height: Math.max(0, rows.length * rowHeight - size.height) }} />
      </div>
      <p className="visually-hidden" role="status">
        {said}
      </p>
    </>
  );
}
