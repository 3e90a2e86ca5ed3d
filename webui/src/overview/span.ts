// The steps in view: from one place among the steps to another one, both in columns.

export interface Span {
  from: number;
  to: number;
}

// The fewest columns in view.
const LEAST = 4;

export const wholeSpan = (columns: number): Span => ({ from: 0, to: Math.max(1, columns) });

export function isWhole({ from, to }: Span, columns: number): boolean {
  return from <= 0 && to >= columns;
}

// Moves the span into the columns without changing its length, unless it is too long.
function within({ from, to }: Span, columns: number): Span {
  const length = Math.min(to - from, Math.max(1, columns));
  const start = Math.min(Math.max(0, from), Math.max(1, columns) - length);
  return { from: start, to: start + length };
}

// Shows `factor` times fewer columns; what is at `place` stays there.
export function zoomSpan({ from, to }: Span, factor: number, place: number, columns: number): Span {
  const length = Math.min(Math.max((to - from) / factor, Math.min(LEAST, columns)), Math.max(1, columns));
  const share = (place - from) / (to - from);
  const start = place - share * length;
  return within({ from: start, to: start + length }, columns);
}

export function panSpan({ from, to }: Span, by: number, columns: number): Span {
  return within({ from: from + by, to: to + by }, columns);
}

// The span that a drag from one place to another one selects; at least a few columns.
export function spanBetween(a: number, b: number, columns: number): Span {
  const [from, to] = [Math.floor(Math.min(a, b)), Math.ceil(Math.max(a, b))];
  const more = Math.max(0, Math.min(LEAST, columns) - (to - from)) / 2;
  return within({ from: from - more, to: to + more }, columns);
}

// Moves the span as little as needed to show a column.
export function revealColumn(span: Span, column: number, columns: number): Span {
  if (column < span.from) return panSpan(span, column - span.from, columns);
  if (column + 1 > span.to) return panSpan(span, column + 1 - span.to, columns);
  return span;
}

// The span after columns were dropped at the begin and added at the end. A span that reached the
// end stays there.
export function followSpan(span: Span, dropped: number, before: number, columns: number): Span {
  if (span.to >= before) return within({ from: columns - (span.to - span.from), to: columns }, columns);
  return within({ from: span.from - dropped, to: span.to - dropped }, columns);
}

// Where the columns are on the page, in pixels: they begin at `left`.
export interface Frame {
  left: number;
  width: number;
}

export const pixelsPerColumn = ({ from, to }: Span, { width }: Frame): number => width / (to - from);

export function placeOf(column: number, span: Span, frame: Frame): number {
  return frame.left + (column - span.from) * pixelsPerColumn(span, frame);
}

// The place among the columns, which may be outside of them.
export function columnAt(x: number, span: Span, frame: Frame): number {
  return span.from + (x - frame.left) / pixelsPerColumn(span, frame);
}
