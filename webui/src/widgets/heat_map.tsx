// A heat map. Dragging and scrolling pan, Ctrl+wheel zooms, and arrow keys move between
// cells. The parent is notified of the cell under the pointer.

import { Maximize, Minus, Plus } from 'lucide-react';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Button } from './button';
import type { GridData } from './grid_data';
import { HeatPainter } from './heat_draw';
import { cellAt, fitView, panView, revealCell, zoomView, type HeatView } from './heat_view';
import { useHeatTheme } from './use_heat_colours';
import { useElementSize } from './use_size';
import * as words from '../words/tensor';
import { cellByKey } from './value_grid';
import './heat_map.css';

interface Props {
  grid: GridData;
  label: string;
  // Text alternative of the picture.
  summary: string;
  scale: number;
  active: number;
  onActive: (cell: number) => void;
  onHover: (cell: number | null) => void;
}

const DRAG_PX = 3;
const ZOOM_STEP = 1.5;

export function HeatMap({ grid, label, summary, scale, active, onActive, onHover }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useElementSize(frame);
  const theme = useHeatTheme(frame);
  const painter = useMemo(() => (theme === null ? null : new HeatPainter(grid, theme)), [grid, theme]);
  const { columns, rows, count } = grid;
  // Null shows the whole grid.
  const [moved, setMoved] = useState<HeatView | null>(null);
  useEffect(() => setMoved(null), [columns, rows]);
  const view = useMemo(
    () => moved ?? fitView(columns, rows, size),
    [moved, columns, rows, size],
  );

  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || painter === null || size.width === 0) return;
    const ratio = window.devicePixelRatio;
    const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (element.width !== width) element.width = width;
    if (element.height !== height) element.height = height;
    painter.draw(context, view, size, scale, active);
  }, [painter, view, size, scale, active]);

  // Starts from the latest requested view, which may not have been drawn yet.
  const change = useCallback(
    (next: (view: HeatView) => HeatView) =>
      setMoved((before) => next(before ?? fitView(columns, rows, size))),
    [columns, rows, size],
  );
  const zoom = useCallback(
    (factor: number, x = size.width / 2, y = size.height / 2) =>
      change((before) => zoomView(before, factor, x, y, columns, rows, size)),
    [change, columns, rows, size],
  );
  const pan = useCallback(
    (dx: number, dy: number) => change((before) => panView(before, dx, dy, columns, rows, size)),
    [change, columns, rows, size],
  );

  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      if (event.ctrlKey || event.metaKey) {
        const place = element.getBoundingClientRect();
        zoom(Math.exp(-event.deltaY * unit * 0.005), event.clientX - place.left, event.clientY - place.top);
        return;
      }
      const [dx, dy] = event.shiftKey ? [event.deltaY, event.deltaX] : [event.deltaX, event.deltaY];
      pan(-dx * unit, -dy * unit);
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, [zoom, pan]);

  const drag = useRef<{ x: number; y: number; dragging: boolean } | null>(null);
  const under = (event: React.PointerEvent) => {
    const place = event.currentTarget.getBoundingClientRect();
    return cellAt(view, event.clientX - place.left, event.clientY - place.top, columns, count);
  };
  const choose = (cell: number) => {
    onActive(cell);
    const next = revealCell(view, cell, columns, rows, size);
    if (next !== view) setMoved(next);
  };

  return (
    <div className="heat">
      <div
        ref={frame}
        className="heat-frame"
        role="group"
        aria-label={label}
        aria-description={words.heatKeys}
        tabIndex={0}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          drag.current = { x: event.clientX, y: event.clientY, dragging: false };
        }}
        onPointerMove={(event) => {
          const start = drag.current;
          onHover(under(event));
          if (start === null) return;
          const [dx, dy] = [event.clientX - start.x, event.clientY - start.y];
          if (!start.dragging && Math.hypot(dx, dy) < DRAG_PX) return;
          drag.current = { x: event.clientX, y: event.clientY, dragging: true };
          pan(dx, dy);
        }}
        onPointerUp={(event) => {
          const start = drag.current;
          drag.current = null;
          const cell = under(event);
          if (start !== null && !start.dragging && cell !== null) onActive(cell);
        }}
        onPointerLeave={() => onHover(null)}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          const cell = cellByKey(event.key, active, grid, Math.max(1, Math.floor(size.height / view.down)));
          if (cell !== null) choose(cell);
          else if (event.key === '+' || event.key === '=') zoom(ZOOM_STEP);
          else if (event.key === '-') zoom(1 / ZOOM_STEP);
          else if (event.key === '0') setMoved(null);
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        <canvas ref={canvas} role="img" aria-label={summary} />
      </div>
      <div className="heat-zoom">
        <Button label={words.zoomOutHeat} icon={Minus} iconOnly small tone="quiet" onClick={() => zoom(1 / ZOOM_STEP)} />
        <Button label={words.zoomInHeat} icon={Plus} iconOnly small tone="quiet" onClick={() => zoom(ZOOM_STEP)} />
        <Button label={words.wholeHeat} icon={Maximize} iconOnly small tone="quiet" onClick={() => setMoved(null)} />
      </div>
    </div>
  );
}
