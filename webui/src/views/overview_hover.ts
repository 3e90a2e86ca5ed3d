// The cell of the overview under the pointer. Outside of the panel's state, so that moving the
// pointer renders only what shows the cell.

import { create } from 'zustand';

export interface Cell {
  // The place of the row among those shown; -1 above and below the picture.
  row: number;
  column: number;
}

interface Hovered {
  cell: Cell | null;
  // The pointer, in pixels from the corner of the panel.
  x: number;
  y: number;
}

export const useHovered = create<Hovered>(() => ({ cell: null, x: 0, y: 0 }));

export function hover(cell: Cell | null, x = 0, y = 0): void {
  if (cell === null && useHovered.getState().cell === null) return;
  useHovered.setState({ cell, x, y });
}
