// The visible part of a heat map and the size of its cells. Pure functions.

export interface HeatView {
  // The fractional cell position at the left and top edges.
  x: number;
  y: number;
  // Pixels per cell.
  across: number;
  down: number;
}

export interface Extent {
  width: number;
  height: number;
}

const MAX_CELL_PX = 64;
// The height of a row if there are few. Columns always fill the width.
const INITIAL_ROW_PX = 30;

export function fitView(columns: number, rows: number, size: Extent): HeatView {
  const across = size.width / Math.max(1, columns);
  const down = Math.min(INITIAL_ROW_PX, size.height / Math.max(1, rows));
  return keepInside({ x: 0, y: 0, across, down }, columns, rows, size);
}

function keepAxis(at: number, count: number, cell: number, length: number): number {
  const seen = length / cell;
  // A grid smaller than the view is centred.
  return count <= seen ? (count - seen) / 2 : Math.max(0, Math.min(at, count - seen));
}

export function keepInside(view: HeatView, columns: number, rows: number, size: Extent): HeatView {
  return {
    ...view,
    x: keepAxis(view.x, columns, view.across, size.width),
    y: keepAxis(view.y, rows, view.down, size.height),
  };
}

// Zooms around (x, y), given in pixels of the view: the cell there stays in place. Width and height
// of cells have limits of their own, so that a long, thin tensor can be zoomed.
export function zoomView(
  view: HeatView,
  factor: number,
  x: number,
  y: number,
  columns: number,
  rows: number,
  size: Extent,
): HeatView {
  const whole = fitView(columns, rows, size);
  const scaled = (cell: number, least: number) =>
    Math.max(least, Math.min(cell * factor, Math.max(MAX_CELL_PX, least)));
  const across = scaled(view.across, whole.across);
  const down = scaled(view.down, whole.down);
  const next = { x: view.x + x / view.across - x / across, y: view.y + y / view.down - y / down, across, down };
  return keepInside(next, columns, rows, size);
}

export function panView(
  view: HeatView,
  dx: number,
  dy: number,
  columns: number,
  rows: number,
  size: Extent,
): HeatView {
  const next = { ...view, x: view.x - dx / view.across, y: view.y - dy / view.down };
  return keepInside(next, columns, rows, size);
}

// The cell at a point of the view; null outside the grid.
export function cellAt(
  view: HeatView,
  x: number,
  y: number,
  columns: number,
  count: number,
): number | null {
  const column = Math.floor(view.x + x / view.across);
  const row = Math.floor(view.y + y / view.down);
  if (column < 0 || row < 0 || column >= columns) return null;
  const cell = row * columns + column;
  return cell < count ? cell : null;
}

// The view that shows a cell, moved as little as needed.
export function revealCell(
  view: HeatView,
  cell: number,
  columns: number,
  rows: number,
  size: Extent,
): HeatView {
  const into = (at: number, from: number, seen: number) =>
    from < at ? from : from + 1 > at + seen ? from + 1 - seen : at;
  const next = {
    ...view,
    x: into(view.x, cell % columns, size.width / view.across),
    y: into(view.y, Math.floor(cell / columns), size.height / view.down),
  };
  return next.x === view.x && next.y === view.y ? view : keepInside(next, columns, rows, size);
}
