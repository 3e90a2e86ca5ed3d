// Turns levels of colour into pixels: one for each row, and for each block of steps.

export interface Levels {
  rows: number;
  columns: number;
  // By row, then column.
  levels: Uint8Array;
}

// Combines `across` columns each. The largest level stands for all, so that nothing that is not
// finite is lost.
export function reduceColumns(from: Levels, across: number): Levels {
  if (across === 1) return from;
  const columns = Math.ceil(from.columns / across);
  const levels = new Uint8Array(from.rows * columns);
  let at = 0;
  for (let row = 0; row < from.rows; row += 1) {
    for (let column = 0; column < from.columns; column += 1, at += 1) {
      const to = row * columns + Math.floor(column / across);
      if ((from.levels[at] as number) > (levels[to] as number)) levels[to] = from.levels[at] as number;
    }
  }
  return { rows: from.rows, columns, levels };
}

// The number of columns, a power of two, that are at least one pixel wide together.
export function blockOf(pixels: number): number {
  let block = 1;
  while (pixels * block < 0.75) block *= 2;
  return block;
}

export interface Part {
  row: number;
  column: number;
  rows: number;
  columns: number;
}

// `colours` has one packed pixel per level.
export function paintLevels({ columns, levels }: Levels, part: Part, colours: Uint32Array, pixels: Uint32Array): void {
  let to = 0;
  for (let row = part.row; row < part.row + part.rows; row += 1) {
    const from = row * columns + part.column;
    for (let at = from; at < from + part.columns; at += 1) pixels[to++] = colours[levels[at] as number] as number;
  }
}
