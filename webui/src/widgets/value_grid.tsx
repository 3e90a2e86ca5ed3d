// The values of a slice in a grid, which has elements only for the cells in view. Non-finite
// values are marked by a colour and a sign.

import { useId, useLayoutEffect, useMemo, useRef } from 'react';
import type { AxisRange } from '../base/slice';
import { axisLabels, cellOf, indexOfCell, type GridData } from './grid_data';
import { elementLength } from './scroll_space';
import { useScrollSpace, type ScrollGroup } from './use_scroll_space';
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
  // The magnitude that gets full colour; by default the largest one in the grid.
  scale?: number;
  group?: ScrollGroup | null;
}

// The cell to which a key moves; null for other keys.
export function cellByKey(key: string, active: number, grid: GridData, page: number): number | null {
  const { rows, columns, count } = grid;
  const [row, column] = [Math.floor(active / columns), active % columns];
  const to = (r: number, c: number) =>
    Math.min(count - 1, clamp(r, rows - 1) * columns + clamp(c, columns - 1));
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
      return to(row, columns - 1);
    default:
      return null;
  }
}

export function ValueGrid({ grid, axes, label, active, onActive, scale = grid.scale, group = null }: Props) {
  const id = useId();
  const labels = useMemo(
    () => axisLabels(axes, grid.wrapped ? grid.columns : null),
    [axes, grid.wrapped, grid.columns],
  );
  const gutter = Math.max(34, labels.row(Math.max(0, grid.rows - 1)).length * 7 + 14);
  const extent = { width: gutter + grid.columns * COLUMN_PX, height: ROW_PX + grid.rows * ROW_PX };
  const { scroller, view, reveal } = useScrollSpace(extent, { width: gutter, height: ROW_PX }, group);

  const [row, column] = [Math.floor(active / grid.columns), active % grid.columns];
  useLayoutEffect(() => {
    reveal(column * COLUMN_PX, row * ROW_PX, COLUMN_PX, ROW_PX);
  }, [row, column, reveal]);
  // What appears above the grid later, such as the cause of a hit, must not push the cell out of view.
  const height = useRef(view.height);
  useLayoutEffect(() => {
    const wasInView = row * ROW_PX >= view.top && (row + 2) * ROW_PX <= view.top + height.current;
    if (view.height < height.current && wasInView) reveal(column * COLUMN_PX, row * ROW_PX, COLUMN_PX, ROW_PX);
    height.current = view.height;
  }, [view.height, view.top, row, column, reveal]);

  const rows = visible(view.top, view.height, ROW_PX, grid.rows);
  const columns = visible(view.left, view.width, COLUMN_PX, grid.columns);
  // Offsets from positions in the content to positions in the element.
  const dx = view.scroll_left - view.left;
  const dy = view.scroll_top - view.top;
  const page = Math.max(1, Math.floor(view.height / ROW_PX) - 2);

  return (
    <div
      ref={scroller}
      className="grid"
      role="grid"
      aria-label={label}
      aria-rowcount={grid.rows}
      aria-colcount={grid.columns}
      aria-activedescendant={`${id}-active`}
      tabIndex={0}
      onKeyDown={(event) => {
        const other = event.ctrlKey || event.metaKey || event.altKey;
        const next = other ? null : cellByKey(event.key, active, grid, page);
        if (next === null) return;
        event.preventDefault();
        event.stopPropagation();
        onActive(next);
      }}
    >
      <div
        className="grid-space"
        role="presentation"
        style={{ width: elementLength(extent.width), height: elementLength(extent.height) }}
      >
        <div className="grid-head" role="presentation" style={{ height: ROW_PX }}>
          <span className="grid-corner" style={{ width: gutter }} />
          {columns.map((c) => (
            <span
              key={c}
              className="grid-column-label"
              style={{ left: dx + gutter + c * COLUMN_PX, width: COLUMN_PX }}
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
            style={{ transform: `translateY(${dy + r * ROW_PX}px)` }}
          >
            <span className="grid-row-label" style={{ width: gutter }} aria-hidden>
              {labels.row(r)}
            </span>
            {columns.map((c) => {
              const index = r * grid.columns + c;
              if (index >= grid.count) return null;
              const cell = cellOf(grid, index, scale);
              const tint =
                cell.kind === 'positive' || cell.kind === 'negative'
                  ? { background: `rgb(var(--${cell.kind}) / ${(cell.strength * 0.42).toFixed(3)})` }
                  : {};
              return (
                <span
                  key={c}
                  id={index === active ? `${id}-active` : undefined}
                  role="gridcell"
                  aria-colindex={c + 1}
                  aria-selected={index === active}
                  className={`grid-cell grid-${cell.kind}`}
                  style={{ left: dx + gutter + c * COLUMN_PX, width: COLUMN_PX, ...tint }}
                  title={`${indexOfCell(axes, index)} = ${grid.elements.text(index)}`}
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

// The rows or columns in view and a few around them.
function visible(from: number, length: number, size: number, count: number): number[] {
  const first = Math.max(0, Math.floor(from / size) - OVERSCAN);
  const last = Math.min(count, Math.ceil((from + length) / size) + OVERSCAN);
  return Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
}
