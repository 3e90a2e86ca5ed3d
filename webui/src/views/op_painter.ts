// Draws the ops of a step: a time axis, and below it a lane for each thread.

import type { Category } from '../api/types';
import { linearScale } from '../base/ticks';
import { barsOf, type Lane } from '../overview/op_lanes';
import { pixelsPerColumn, placeOf, type Frame, type Span } from '../overview/span';

export interface OpTheme {
  category: Record<Category, string>;
  ground: string;
  lane: string;
  line: string;
  text: string;
  muted: string;
  onBar: string;
  select: string;
  font: string;
}

export function readOpTheme(element: Element): OpTheme {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const category = (name: Category) => token(`cat-${name}`);
  return {
    category: {
      activation: category('activation'), gradient: category('gradient'), optimizer: category('optimizer'),
      weight: category('weight'), other: category('other'),
    },
    ground: token('panel'),
    lane: token('raised'),
    line: token('line'),
    text: token('text'),
    muted: token('text-3'),
    onBar: token('panel'),
    select: token('select'),
    font: token('font-mono'),
  };
}

// An op by its lane and its place there.
export interface OpPlace {
  lane: number;
  place: number;
}

export interface OpPicture {
  lanes: readonly Lane[];
  // By number of the op.
  labels: readonly string[];
  categories: readonly Category[];
  // By lane.
  names: readonly string[];
  timeText: (us: number) => string;
}

export interface OpView {
  width: number;
  height: number;
  frame: Frame;
  // In microseconds since the step began.
  span: Span;
  cursor: OpPlace | null;
  // The number of the op that is selected in the graph; -1 if it is none of these.
  selected: number;
}

export const AXIS_PX = 18;
const LANE_PX = { least: 4, most: 30 };
const GAP_PX = 2;
const TICK_PX = 80;
const CHARACTER_PX = 6.62;
const LABEL_PX = 30;

export function laneHeight(lanes: number, height: number): number {
  return Math.min(LANE_PX.most, Math.max(LANE_PX.least, (height - AXIS_PX) / Math.max(1, lanes)));
}

export function drawOps(context: CanvasRenderingContext2D, picture: OpPicture, view: OpView, theme: OpTheme): void {
  const ratio = window.devicePixelRatio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = theme.ground;
  context.fillRect(0, 0, view.width, view.height);
  const size = laneHeight(picture.lanes.length, view.height);
  drawNames(context, picture, view, theme, size);
  context.save();
  context.beginPath();
  context.rect(view.frame.left, 0, view.frame.width, view.height);
  context.clip();
  drawAxis(context, picture, view, theme);
  picture.lanes.forEach((lane, number) => drawLane(context, picture, view, theme, lane, AXIS_PX + number * size, size));
  drawMarks(context, picture, view, theme, size);
  context.restore();
}

function drawNames(context: CanvasRenderingContext2D, { names }: OpPicture, { frame }: OpView, theme: OpTheme, size: number): void {
  if (size < 11) return;
  context.font = `11px ${theme.font}`;
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  context.fillStyle = theme.muted;
  names.forEach((name, number) => context.fillText(name, frame.left - 6, AXIS_PX + (number + 0.5) * size));
}

function drawAxis(context: CanvasRenderingContext2D, { timeText }: OpPicture, { span, frame, height }: OpView, theme: OpTheme): void {
  const { ticks } = linearScale(span.from, span.to, Math.max(2, Math.floor(frame.width / TICK_PX)));
  context.font = `11px ${theme.font}`;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  for (const tick of ticks) {
    const x = Math.round(placeOf(tick, span, frame));
    context.fillStyle = theme.line;
    context.fillRect(x, 0, 1, height);
    context.fillStyle = theme.muted;
    context.fillText(timeText(tick), x + 4, AXIS_PX / 2);
  }
}

function drawLane(context: CanvasRenderingContext2D, { labels, categories }: OpPicture, view: OpView, theme: OpTheme, lane: Lane, top: number, size: number): void {
  const { frame, span } = view;
  const height = Math.max(2, size - GAP_PX);
  const bars = barsOf(lane, span, frame.width);
  // By colour, because changing it takes longer than a bar.
  for (const category of new Set(bars.map(({ place }) => categories[lane.ops[place] as number]))) {
    context.fillStyle = theme.category[category ?? 'other'];
    for (const { x, width, place } of bars) {
      if (categories[lane.ops[place] as number] !== category) continue;
      // A gap shows where one op ends and the next begins.
      context.fillRect(frame.left + x, top, width > 4 ? width - 1 : width, height);
    }
  }
  if (height < 13) return;
  context.font = `11px ${theme.font}`;
  context.textAlign = 'left';
  context.fillStyle = theme.onBar;
  for (const { x, width, place } of bars) {
    if (width < LABEL_PX) continue;
    // Of a bar that begins left of the view, the label is in view.
    const left = Math.max(0, x);
    const room = Math.floor((Math.min(frame.width, x + width) - left - 6) / CHARACTER_PX);
    const label = labels[lane.ops[place] as number] ?? '';
    if (room >= 3) context.fillText(label.length <= room ? label : `${label.slice(0, room - 1)}…`, frame.left + left + 3, top + height / 2);
  }
}

function drawMarks(context: CanvasRenderingContext2D, { lanes }: OpPicture, { span, frame, cursor, selected }: OpView, theme: OpTheme, size: number): void {
  const outline = ({ lane, place }: OpPlace, colour: string) => {
    const found = lanes[lane];
    if (found === undefined) return;
    const x = placeOf(found.starts[place] as number, span, frame);
    const width = ((found.ends[place] as number) - (found.starts[place] as number)) * pixelsPerColumn(span, frame);
    const wide = Math.max(5, width);
    context.lineWidth = 2;
    context.strokeStyle = colour;
    context.strokeRect(x + (width - wide) / 2, AXIS_PX + lane * size, wide, Math.max(2, size - GAP_PX));
  };
  if (selected >= 0) {
    const lane = lanes.findIndex(({ ops }) => ops.includes(selected));
    if (lane >= 0) outline({ lane, place: (lanes[lane] as Lane).ops.indexOf(selected) }, theme.select);
  }
  if (cursor !== null) outline(cursor, theme.text);
}
