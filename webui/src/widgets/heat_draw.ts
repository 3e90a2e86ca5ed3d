// Draws the part of a heat map that is in view.

import { formatNumber } from '../base/format';
import type { GridData } from './grid_data';
import {
  heatTable,
  isStrong,
  paintWindow,
  reduceLevel,
  type HeatLevel,
  type HeatTable,
} from './heat_pixels';
import type { Extent, HeatView } from './heat_view';
import type { HeatTheme } from './use_heat_colours';

// The smallest cells that have signs and numbers.
const SIGN_PX = 9;
const NUMBER_PX = { across: 44, down: 15 };

const SIGNS = { nan: '✕', inf: '▲', neg_inf: '▼' } as const;

// Draws one grid, with the data that is reused from frame to frame.
export class HeatPainter {
  private levels = new Map<string, HeatLevel>();
  private table: HeatTable;
  private readonly bitmap = document.createElement('canvas');

  constructor(
    private readonly grid: GridData,
    private readonly theme: HeatTheme,
  ) {
    this.table = heatTable(theme.colours);
  }

  private level(across: number, down: number): HeatLevel {
    const key = `${across} ${down}`;
    let level = this.levels.get(key);
    if (level === undefined) {
      const { rows, columns, numbers: values, count } = this.grid;
      level = reduceLevel({ rows, columns, values, count }, across, down);
      this.levels.set(key, level);
    }
    return level;
  }

  draw(context: CanvasRenderingContext2D, view: HeatView, size: Extent, scale: number, active: number): void {
    const ratio = window.devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    this.drawPixels(context, view, size, scale);
    if (Math.min(view.across, view.down) >= SIGN_PX) this.drawTexts(context, view, size, scale);
    this.drawActive(context, view, active);
  }

  private drawPixels(context: CanvasRenderingContext2D, view: HeatView, size: Extent, scale: number): void {
    const across = blockOf(view.across);
    const down = blockOf(view.down);
    const level = this.level(across, down);
    const cell = { across: view.across * across, down: view.down * down };
    const column = Math.max(0, Math.floor(view.x / across));
    const row = Math.max(0, Math.floor(view.y / down));
    const columns = Math.min(level.columns, Math.ceil((view.x * view.across + size.width) / cell.across)) - column;
    const rows = Math.min(level.rows, Math.ceil((view.y * view.down + size.height) / cell.down)) - row;
    if (rows <= 0 || columns <= 0) return;
    const image = new ImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    paintWindow(level, { row, column, rows, columns }, scale, this.table, pixels);
    if (this.bitmap.width < columns || this.bitmap.height < rows) {
      this.bitmap.width = Math.max(this.bitmap.width, columns);
      this.bitmap.height = Math.max(this.bitmap.height, rows);
    }
    this.bitmap.getContext('2d')?.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(
      this.bitmap,
      0,
      0,
      columns,
      rows,
      column * cell.across - view.x * view.across,
      row * cell.down - view.y * view.down,
      columns * cell.across,
      rows * cell.down,
    );
  }

  private drawTexts(context: CanvasRenderingContext2D, view: HeatView, size: Extent, scale: number): void {
    const { numbers, columns, rows, count } = this.grid;
    const withNumbers = view.across >= NUMBER_PX.across && view.down >= NUMBER_PX.down;
    const sign = Math.min(13, Math.min(view.across, view.down) * 0.8);
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const last_row = Math.min(rows, Math.ceil(view.y + size.height / view.down));
    const last_column = Math.min(columns, Math.ceil(view.x + size.width / view.across));
    for (let r = Math.max(0, Math.floor(view.y)); r < last_row; r += 1) {
      for (let c = Math.max(0, Math.floor(view.x)); c < last_column; c += 1) {
        const cell = r * columns + c;
        if (cell >= count) return;
        const value = numbers[cell] as number;
        if (Number.isFinite(value) && !withNumbers) continue;
        const { text, colour, large } = this.textOf(value, scale);
        context.font = large ? `700 ${sign}px ${this.theme.font}` : `11.5px ${this.theme.font}`;
        context.fillStyle = colour;
        context.fillText(text, (c + 0.5 - view.x) * view.across, (r + 0.5 - view.y) * view.down);
      }
    }
  }

  private textOf(value: number, scale: number): { text: string; colour: string; large: boolean } {
    const { theme } = this;
    if (Number.isNaN(value)) return { text: SIGNS.nan, colour: theme.nan_text, large: true };
    if (value === Infinity) return { text: SIGNS.inf, colour: theme.inf_text, large: true };
    if (value === -Infinity) return { text: SIGNS.neg_inf, colour: theme.neg_inf_text, large: true };
    const colour = isStrong(value, scale) ? theme.on_strong : theme.text;
    return { text: formatNumber(value, 3), colour, large: false };
  }

  private drawActive(context: CanvasRenderingContext2D, view: HeatView, active: number): void {
    const { columns } = this.grid;
    const width = Math.max(7, view.across);
    const height = Math.max(7, view.down);
    const x = ((active % columns) + 0.5 - view.x) * view.across - width / 2;
    const y = (Math.floor(active / columns) + 0.5 - view.y) * view.down - height / 2;
    context.lineWidth = 1.5;
    context.strokeStyle = this.theme.line;
    context.strokeRect(x, y, width, height);
  }
}

// The number of cells per pixel, so that the bitmap is never larger than the view.
function blockOf(pixels: number): number {
  let block = 1;
  while (pixels * block < 0.75) block *= 2;
  return block;
}
