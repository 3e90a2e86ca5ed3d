// Values of a slice as a grid: only the cells in view exist. Values that are not
// finite are marked by colour and by a sign.

import { useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { AxisRange } from '../base/slice';
import { axisLabels, cellOf, indexOfCell, type GridData } from './grid_data';
import './value_grid.css';

const ROW_PX = 20;
const COLUMN_PX = 78;
const OVERSCAN = 3;

interface Props {
  grid: GridData;
  axes: readonly AxisRange[];
  label: string;
  active: number;
  onActive: (cell: number) => void;
}

interface Window {
  left: number;
  top: number;
  width: number;
  height: number;
}

export function ValueGrid({ grid, axes, label, active, onActive }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<Window>({ left: 0, top: 0, width: 600, height: 240 });
  const labels = useMemo(() => axisLabels(axes), [axes]);
  const gutter = Math.max(34, labels.row(Math.max(0, grid.rows - 1)).length * 7 + 14);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const read = () =>
      setView({
        left: element.scrollLeft,
        top: element.scrollTop,
        width: element.clientWidth,
        height: element.clientHeight,
      });
    read();
    const observer = new ResizeObserver(read);
    observer.observe(element);
    element.addEventListener('scroll', read, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', read);
    };
  }, []);

  const [row, column] = [Math.floor(active / grid.columns), active % grid.columns];
  useLayoutEffect(() => {
    if (scroller.current !== null) scrollInto(scroller.current, row, column, gutter);
  }, [row, column, gutter]);

  const firstRow = Math.max(0, Math.floor(view.top / ROW_PX) - OVERSCAN);
  const lastRow = Math.min(grid.rows, Math.ceil((view.top + view.height) / ROW_PX) + OVERSCAN);
  const firstColumn = Math.max(0, Math.floor(view.left / COLUMN_PX) - OVERSCAN);
  const lastColumn = Math.min(
    grid.columns,
    Math.ceil((view.left + view.width) / COLUMN_PX) + OVERSCAN,
  );
  const rows = range(firstRow, lastRow);
  const columns = range(firstColumn, lastColumn);

  const move = (key: string): number | null => {
    const page = Math.max(1, Math.floor(view.height / ROW_PX) - 2);
    const to = (r: number, c: number) =>
      clamp(r, grid.rows - 1) * grid.columns + clamp(c, grid.columns - 1);
    switch (key) {
      case 'ArrowDown':
        return to(row + 1, column);
      case 'ArrowUp':
        return to(row - 1, column);
      case 'ArrowRight':
        return to(row, column + 1);
      case 'ArrowLeft':
        return to(row, column - 1);
      case 'PageDown':
        return to(row + page, column);
      case 'PageUp':
        return to(row - page, column);
      case 'Home':
        return to(row, 0);
      case 'End':
        return to(row, grid.columns - 1);
      default:
        return null;
    }
  };

  return (
    <div
      ref={scroller}
      className="grid"
      role="grid"
      aria-label={label}
      aria-rowcount={grid.rows}
      aria-colcount={grid.columns}
      aria-activedescendant="grid-active"
      tabIndex={0}
      onKeyDown={(event) => {
        const next = event.ctrlKey || event.metaKey || event.altKey ? null : move(event.key);
        if (next === null) return;
        event.preventDefault();
        event.stopPropagation();
        onActive(next);
      }}
    >
      <div
        className="grid-space"
        role="presentation"
        style={{
          width: gutter + grid.columns * COLUMN_PX,
          height: ROW_PX + grid.rows * ROW_PX,
        }}
      >
        <div className="grid-head" role="presentation" style={{ height: ROW_PX }}>
          <span className="grid-corner" style={{ width: gutter }} />
          {columns.map((c) => (
            <span
              key={c}
              className="grid-column-label"
              style={{ left: gutter + c * COLUMN_PX, width: COLUMN_PX }}
            >
              {labels.column(c)}
            </span>
          ))}
        </div>
        {rows.map((r) => (
          <div
            key={r}
            role="row"
            aria-rowindex={r + 1}
            className="grid-row"
            style={{ transform: `translateY(${r * ROW_PX}px)` }}
          >
            <span className="grid-row-label" style={{ width: gutter }} aria-hidden>
              {labels.row(r)}
            </span>
            {columns.map((c) => {
              const index = r * grid.columns + c;
              const cell = cellOf(grid, index);
              const tint =
                cell.kind === 'positive' || cell.kind === 'negative'
                  ? { background: `rgb(var(--${cell.kind}) / ${(cell.strength * 0.42).toFixed(3)})` }
                  : {};
              return (
                <span
                  key={c}
                  id={index === active ? 'grid-active' : undefined}
                  role="gridcell"
                  aria-colindex={c + 1}
                  aria-selected={index === active}
                  className={`grid-cell grid-${cell.kind}`}
                  style={{ left: gutter + c * COLUMN_PX, width: COLUMN_PX, ...tint }}
                  title={`${indexOfCell(axes, index)} = ${String(grid.values[index])}`}
                  onClick={() => onActive(index)}
                >
                  {cell.text}
                </span>
              );
            })}
          </div>
        ))}
      </div>
    </div>
  );
}

function clamp(value: number, high: number): number {
  return Math.min(high, Math.max(0, value));
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}

// Below the sticky labels, that is.
function scrollInto(element: HTMLElement, row: number, column: number, gutter: number): void {
  const top = row * ROW_PX;
  const left = column * COLUMN_PX;
  const height = element.clientHeight - ROW_PX;
  const width = element.clientWidth - gutter;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top + ROW_PX > element.scrollTop + height) element.scrollTop = top + ROW_PX - height;
  if (left < element.scrollLeft) element.scrollLeft = left;
  else if (left + COLUMN_PX > element.scrollLeft + width) {
    element.scrollLeft = left + COLUMN_PX - width;
  }
}
