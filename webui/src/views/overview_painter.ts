// Draws the rows of the overview that are in view: labels on the left, and one cell per step.

import { NOT_FINITE } from '../overview/matrix';
import { blockOf, paintLevels, reduceColumns, type Levels } from '../overview/pixels';
import { coloursOf, parseRgb, type Rgb } from '../overview/ramp';
import type { Row } from '../overview/rows';
import { pixelsPerColumn, placeOf, type Frame, type Span } from '../overview/span';
import type { Cell } from './overview_hover';

export interface OverviewTheme {
  ramp: Rgb[];
  nothing: string;
  bad: string;
  onBad: string;
  ground: string;
  text: string;
  muted: string;
  select: string;
  font: string;
}

export function readTheme(element: Element): OverviewTheme {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ramp: [0, 1, 2, 3, 4].map((i) => parseRgb(token(`ramp-${i}`))),
    nothing: token('ramp-nothing'),
    bad: token('hit'),
    onBad: token('on-hit'),
    ground: token('panel'),
    text: token('text'),
    muted: token('text-3'),
    select: token('select'),
    font: token('font-mono'),
  };
}

export interface Picture {
  rows: readonly Row[];
  labels: readonly string[];
  // Of the modules; empty where they are not known.
  classes: readonly string[];
  levels: Levels;
}

export interface Place {
  width: number;
  height: number;
  // Pixels above the view.
  top: number;
  rowHeight: number;
  frame: Frame;
  span: Span;
  cursor: Cell | null;
  selected: string | null;
}

// Rows and blocks of columns that are drawn: up to, but without, `last` and `to`. The first block is at
// `left`; each is `width` wide.
interface Drawn {
  first: number;
  last: number;
  from: number;
  to: number;
  left: number;
  width: number;
}

// The smallest red cell, and the smallest cells with gaps, signs and labels.
const BAD_PX = 3;
const GAP_PX = 7;
const SIGN_PX = 10;
const LABEL_PX = 12;
const INDENT_PX = 11;
const CHARACTER_PX = 6.92;
// The fewest characters of a class after a label.
const CLASS_CHARACTERS = 4;

export class OverviewPainter {
  private readonly colours: Uint32Array;
  private readonly reduced = new Map<number, Levels>();
  private readonly bitmap = document.createElement('canvas');

  constructor(
    private readonly picture: Picture,
    private readonly theme: OverviewTheme,
  ) {
    this.colours = coloursOf(theme.ramp, parseRgb(theme.nothing), parseRgb(theme.bad));
  }

  draw(context: CanvasRenderingContext2D, place: Place): void {
    const ratio = window.devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.theme.ground;
    context.fillRect(0, 0, place.width, place.height);
    const first = Math.max(0, Math.floor(place.top / place.rowHeight));
    const last = Math.min(this.picture.rows.length, Math.ceil((place.top + place.height) / place.rowHeight));
    if (last <= first) return;
    context.save();
    context.beginPath();
    context.rect(place.frame.left, 0, place.frame.width, place.height);
    context.clip();
    this.drawCells(context, place, first, last);
    context.restore();
    this.drawLabels(context, place, first, last);
  }

  private block(across: number): Levels {
    let levels = this.reduced.get(across);
    if (levels === undefined) {
      levels = reduceColumns(this.picture.levels, across);
      this.reduced.set(across, levels);
    }
    return levels;
  }

  private drawCells(context: CanvasRenderingContext2D, place: Place, first: number, last: number): void {
    const { span, frame, rowHeight, top } = place;
    const across = blockOf(pixelsPerColumn(span, frame));
    const levels = this.block(across);
    const from = Math.max(0, Math.floor(span.from / across));
    const to = Math.min(levels.columns, Math.ceil(span.to / across));
    if (to <= from) return;
    const [columns, rows] = [to - from, last - first];
    const image = new ImageData(columns, rows);
    paintLevels(levels, { row: first, column: from, rows, columns }, this.colours, new Uint32Array(image.data.buffer));
    if (this.bitmap.width < columns || this.bitmap.height < rows) {
      this.bitmap.width = Math.max(this.bitmap.width, columns);
      this.bitmap.height = Math.max(this.bitmap.height, rows);
    }
    this.bitmap.getContext('2d')?.putImageData(image, 0, 0);
    const left = placeOf(from * across, span, frame);
    const width = pixelsPerColumn(span, frame) * across;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.bitmap, 0, 0, columns, rows, left, first * rowHeight - top, columns * width, rows * rowHeight);
    if (rowHeight >= GAP_PX) {
      context.fillStyle = this.theme.ground;
      for (let row = first + 1; row < last; row += 1) context.fillRect(left, row * rowHeight - top - 1, columns * width, 1);
    }
    const drawn = { first, last, from, to, left, width };
    this.widenBad(context, place, levels, drawn);
    this.drawSigns(context, place, levels, drawn);
    this.drawCursor(context, place);
  }

  // Small cells that are not finite are drawn larger than they are, so that they can be seen.
  private widenBad(context: CanvasRenderingContext2D, { rowHeight, top }: Place, { columns, levels }: Levels, part: Drawn): void {
    const { first, last, from, to, left, width } = part;
    if (width >= BAD_PX && rowHeight >= BAD_PX) return;
    const height = Math.max(BAD_PX, rowHeight);
    context.fillStyle = this.theme.bad;
    for (let row = first; row < last; row += 1) {
      const y = (row + 0.5) * rowHeight - top - height / 2;
      for (let column = from; column < to; column += 1) {
        if (levels[row * columns + column] !== NOT_FINITE) continue;
        const start = column;
        while (column + 1 < to && levels[row * columns + column + 1] === NOT_FINITE) column += 1;
        context.fillRect(left + (start - from) * width, y, Math.max(BAD_PX, (column - start + 1) * width), height);
      }
    }
  }

  // Large cells that are not finite have a sign as well as a colour.
  private drawSigns(context: CanvasRenderingContext2D, { rowHeight, top }: Place, { columns, levels }: Levels, part: Drawn): void {
    const { first, last, from, to, left, width } = part;
    if (width < SIGN_PX || rowHeight < SIGN_PX) return;
    context.font = `700 ${Math.min(12, rowHeight - 2)}px ${this.theme.font}`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillStyle = this.theme.onBad;
    for (let row = first; row < last; row += 1) {
      for (let column = from; column < to; column += 1) {
        if (levels[row * columns + column] !== NOT_FINITE) continue;
        context.fillText('✕', left + (column - from + 0.5) * width, (row + 0.5) * rowHeight - top);
      }
    }
  }

  private drawCursor(context: CanvasRenderingContext2D, { cursor, span, frame, rowHeight, top }: Place): void {
    if (cursor === null || cursor.row < 0) return;
    const wide = Math.max(7, pixelsPerColumn(span, frame));
    const high = Math.max(7, rowHeight);
    const x = placeOf(cursor.column + 0.5, span, frame) - wide / 2;
    const y = (cursor.row + 0.5) * rowHeight - top - high / 2;
    context.lineWidth = 3;
    context.strokeStyle = this.theme.ground;
    context.strokeRect(x, y, wide, high);
    context.lineWidth = 1.5;
    context.strokeStyle = this.theme.text;
    context.strokeRect(x, y, wide, high);
  }

  // Where rows are too low for labels, those of the outer groups are drawn.
  private drawLabels(context: CanvasRenderingContext2D, place: Place, first: number, last: number): void {
    const { rows } = this.picture;
    const taken = new Uint8Array(Math.ceil(place.height) + 1);
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    const order = Array.from({ length: last - first }, (_, i) => first + i);
    if (place.rowHeight < LABEL_PX) order.sort((a, b) => (rows[a] as Row).depth - (rows[b] as Row).depth || a - b);
    for (const row of order) {
      const y = (row + 0.5) * place.rowHeight - place.top;
      if (place.rowHeight < LABEL_PX) {
        const [from, to] = [Math.max(0, Math.ceil(y - LABEL_PX / 2)), Math.min(taken.length, Math.ceil(y + LABEL_PX / 2))];
        if (taken.subarray(from, to).includes(1)) continue;
        taken.fill(1, from, to);
      }
      this.drawLabel(context, place, row, y);
    }
  }

  private drawLabel(context: CanvasRenderingContext2D, place: Place, row: number, y: number): void {
    const { theme } = this;
    const { depth, folded, path } = this.picture.rows[row] as Row;
    const label = this.picture.labels[row] ?? '';
    const left = 6 + depth * INDENT_PX;
    const isSelected = place.selected !== null && place.selected === path;
    context.fillStyle = isSelected ? theme.select : folded === null ? theme.text : theme.muted;
    if (folded !== null) {
      const corners = folded ? [[1, -3.5], [6, 0], [1, 3.5]] : [[0, -2], [7, -2], [3.5, 3]];
      context.beginPath();
      for (const [dx = 0, dy = 0] of corners) context.lineTo(left + dx, y + dy);
      context.fill();
      context.fillStyle = isSelected ? theme.select : theme.text;
    }
    context.font = `${folded === null ? 400 : 600} 11.5px ${theme.font}`;
    const room = Math.floor((place.frame.left - left - INDENT_PX - 4) / CHARACTER_PX);
    context.fillText(shorten(label, Math.max(3, room)), left + INDENT_PX, y + 0.5);
    const className = this.picture.classes[row] ?? '';
    const roomForClass = room - label.length - 1;
    if (className === '' || roomForClass < Math.min(CLASS_CHARACTERS, className.length)) return;
    const text = className.length <= roomForClass ? className : `${className.slice(0, roomForClass - 1)}…`;
    context.font = `400 11.5px ${theme.font}`;
    context.fillStyle = theme.muted;
    context.fillText(text, left + INDENT_PX + (label.length + 1) * CHARACTER_PX, y + 0.5);
  }
}

// Names differ at their ends more often than at their begins.
function shorten(text: string, room: number): string {
  return text.length <= room ? text : `…${text.slice(text.length - room + 1)}`;
}
