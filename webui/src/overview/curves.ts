// Paths of curves over columns. They are drawn in units of columns across and from 0 (top) to 1
// (bottom) down; a transform puts them in place, so that moving does not build them again.

export type Place = (value: number) => number;

const text = (x: number, y: number) => `${x} ${y.toFixed(4)}`;

// A line through the middle of the columns, with gaps where there is no value.
export function linePath(values: ArrayLike<number | null>, place: Place): string {
  let path = '';
  let pen = false;
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    const known = value !== null && value !== undefined && Number.isFinite(value);
    // A value between gaps is a line of no length, which round caps make visible.
    if (known) path += pen ? `L${text(i + 0.5, place(value))}` : `M${text(i + 0.5, place(value))}h0`;
    pen = known;
  }
  return path;
}

// The area between two curves.
export function bandPath(low: ArrayLike<number | null>, high: ArrayLike<number | null>, place: Place): string {
  let path = '';
  const known = (i: number) => Number.isFinite(low[i] ?? NaN) && Number.isFinite(high[i] ?? NaN);
  for (let from = 0; from < low.length; from += 1) {
    if (!known(from)) continue;
    let to = from;
    while (to + 1 < low.length && known(to + 1)) to += 1;
    const points: string[] = [];
    // The band of a single step is as wide as its column.
    const x = (i: number) => (from === to ? i : i + 0.5);
    for (let i = from; i <= to; i += 1) points.push(text(x(i), place(high[i] as number)));
    if (from === to) points.push(text(from + 1, place(high[from] as number)), text(from + 1, place(low[from] as number)));
    for (let i = to; i >= from; i -= 1) points.push(text(x(i), place(low[i] as number)));
    path += `M${points.join('L')}Z`;
    from = to;
  }
  return path;
}

// Bars from the bottom, one per column.
export function barPath(values: ArrayLike<number>, most: number): string {
  let path = '';
  for (let i = 0; i < values.length; i += 1) {
    const height = Math.min(1, (values[i] as number) / most);
    if (height > 0) path += `M${text(i + 0.08, 1)}V${(1 - height).toFixed(4)}h0.84V1Z`;
  }
  return path;
}

// Least and greatest finite value; null if there is none.
export function extent(values: ArrayLike<number | null>): [number, number] | null {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    if (value === null || value === undefined || !Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

// Places from `low` at the bottom to `high` at the top, with a little room.
export function linearPlace(low: number, high: number): Place {
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  const span = high - low + 2 * room;
  return (value) => 1 - (value - low + room) / span;
}
