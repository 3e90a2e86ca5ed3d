// Draws the ranks of a job as a grid of cells.

import type { RankCell } from '../state/rank_order';

export interface RankColours {
  text: string;
  // By state.
  running: string;
  paused: string;
  idle: string;
  bad: string;
  // From the least value to the greatest.
  ramp: readonly string[];
  select: string;
}

const RAMP = 16;

export function readRankColours(element: Element): RankColours {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const mix = (share: number) => `color-mix(in oklab, ${token('select')} ${Math.round(share * 100)}%, ${token('idle-soft')})`;
  return {
    text: token('text'),
    running: token('run'),
    paused: token('current'),
    idle: token('idle-soft'),
    bad: token('hit'),
    ramp: Array.from({ length: RAMP }, (_, i) => mix(0.12 + (0.88 * i) / (RAMP - 1))),
    select: token('text'),
  };
}

export interface RankGrid {
  columns: number;
  side: number;
  width: number;
  height: number;
}

const LEAST_SIDE = 6;
const MOST_SIDE = 13;
const GAP = 1;

// A grid of at most this width; cells become smaller the more there are.
export function gridOf(count: number, width: number): RankGrid {
  const square = Math.ceil(Math.sqrt(count));
  const columns = Math.max(8, Math.min(Math.floor(width / LEAST_SIDE), Math.ceil(square / 8) * 8));
  const side = Math.max(LEAST_SIDE, Math.min(MOST_SIDE, Math.floor(width / columns)));
  return { columns, side, width: columns * side, height: Math.ceil(count / columns) * side };
}

// The place in the list of cells; null beside them.
export function placeAt(grid: RankGrid, count: number, x: number, y: number): number | null {
  if (x < 0 || y < 0 || x >= grid.width || y >= grid.height) return null;
  const place = Math.floor(y / grid.side) * grid.columns + Math.floor(x / grid.side);
  return place < count ? place : null;
}

function stateColour({ rank }: RankCell, colours: RankColours): string {
  switch (rank.state) {
    case 'running':
      return colours.running;
    case 'paused':
    case 'pausing':
      return colours.paused;
    case 'lost':
      return colours.bad;
    default:
      return colours.idle;
  }
}

export function colourOf(cell: RankCell, byState: boolean, colours: RankColours): string {
  if (byState || cell.rank.state === 'lost') return stateColour(cell, colours);
  if (cell.value !== null && !Number.isFinite(cell.value)) return colours.bad;
  if (cell.share === null) return colours.idle;
  return colours.ramp[Math.round(cell.share * (colours.ramp.length - 1))] ?? colours.idle;
}

// A cross marks what is bad by its shape as well, a dot a rank with hits.
function drawMarks(context: CanvasRenderingContext2D, cell: RankCell, x: number, y: number, side: number, colours: RankColours): void {
  const bad = cell.rank.state === 'lost' || (cell.value !== null && !Number.isFinite(cell.value));
  context.strokeStyle = context.fillStyle = colours.text;
  if (bad) {
    context.beginPath();
    context.moveTo(x + 2, y + 2);
    context.lineTo(x + side - 2, y + side - 2);
    context.moveTo(x + side - 2, y + 2);
    context.lineTo(x + 2, y + side - 2);
    context.stroke();
  } else if (cell.hits > 0) {
    const dot = Math.max(2, side / 4);
    context.fillRect(x + side - dot - 1, y + 1, dot, dot);
  }
}

export function drawRanks(
  context: CanvasRenderingContext2D,
  grid: RankGrid,
  cells: readonly RankCell[],
  options: { byState: boolean; chosen: number; colours: RankColours },
): void {
  const { byState, chosen, colours } = options;
  const side = grid.side - GAP;
  context.clearRect(0, 0, grid.width, grid.height);
  context.lineWidth = 1;
  cells.forEach((cell, place) => {
    const x = (place % grid.columns) * grid.side;
    const y = Math.floor(place / grid.columns) * grid.side;
    context.fillStyle = colourOf(cell, byState, colours);
    context.fillRect(x, y, side, side);
    drawMarks(context, cell, x, y, side, colours);
    if (cell.rank.rank !== chosen) return;
    context.strokeStyle = colours.select;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 1, side - 2, side - 2);
    context.lineWidth = 1;
  });
}
