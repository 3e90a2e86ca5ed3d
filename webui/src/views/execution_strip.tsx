// The ops of the step in the order of execution, below the graph. Moving along it selects ops.

import { useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import { formatCount } from '../base/format';
import { throttle } from '../base/throttle';
import {
  columnHasHit,
  columnIsBad,
  columnsOf,
  executionOf,
  nextMarked,
  placeAt,
  type Columns,
  type Execution,
} from './execution_order';
import { isBad, levelOf } from '../graph/health_colours';
import type { Palette } from '../graph/palette';
import { NONE, type GraphIndex } from '../index/graph_index';
import { useHealth } from '../state/health';
import { revealNode, selectNode, useScopes } from '../state/scopes';
import { touch } from '../state/ui';
import { useElementSize } from '../widgets/use_size';
import * as words from '../words/health';
import { useJobContext } from './job_context';
import { usePalette } from './use_palette';
import './execution_strip.css';

const PHASE_PX = 14;
const MARK_PX = 9;
// Selecting loads details of the op.
const SCRUB_MS = 60;
const PAGE_SHARE = 0.05;

interface Drawing {
  execution: Execution;
  columns: Columns;
  selected: number;
  current: number;
  palette: Palette;
  width: number;
  height: number;
}

function triangle(context: CanvasRenderingContext2D, x: number, y: number, down: boolean): void {
  const tip = down ? 5 : -5;
  context.beginPath();
  context.moveTo(x - 4, y);
  context.lineTo(x + 4, y);
  context.lineTo(x, y + tip);
  context.fill();
}

function drawPhases(context: CanvasRenderingContext2D, { execution, palette, width }: Drawing): void {
  const px = width / execution.items.length;
  context.font = `500 11.5px ${palette.fontMono}`;
  context.textBaseline = 'middle';
  for (const { name, category, begin, end } of execution.phases) {
    context.fillStyle = palette.category[category];
    context.fillRect(begin * px, PHASE_PX - 3, (end - begin) * px - 1, 2);
    if ((end - begin) * px < name.length * 6.9 + 6) continue;
    context.fillStyle = palette.text;
    context.fillText(name, begin * px + 2, PHASE_PX / 2 - 1);
  }
}

function drawOps(context: CanvasRenderingContext2D, { execution, columns, palette, width, height }: Drawing): void {
  const top = PHASE_PX + MARK_PX;
  const { near, far, badFar } = palette.health;
  for (let x = 0; x < width; x += 1) {
    const share = columns.shares[x] as number;
    const bad = columnIsBad(columns, x);
    context.fillStyle = bad ? badFar : Number.isNaN(share) ? palette.scopeBorder : (far[levelOf(share)] ?? (near[0] as string));
    context.fillRect(x, top, 1, height - top - MARK_PX);
  }
  // Lines between ops that are wide enough.
  const px = width / execution.items.length;
  context.fillStyle = palette.canvas;
  const ops = px >= 4 ? execution.items.length : 0;
  for (let place = 1; place < ops; place += 1) {
    context.fillRect(Math.floor(place * px), top, 1, height - top - MARK_PX);
  }
  context.fillStyle = palette.hit;
  for (let x = 0; x < width; x += 1) {
    const starts = (has: (columns: Columns, x: number) => boolean) => has(columns, x) && (x === 0 || !has(columns, x - 1));
    if (starts(columnIsBad)) triangle(context, x + Math.min(px, 8) / 2, PHASE_PX + 2, true);
    if (starts(columnHasHit)) triangle(context, x + Math.min(px, 8) / 2, height - 2, false);
  }
}

function drawPlace(context: CanvasRenderingContext2D, { execution, width, height }: Drawing, place: number, colour: string): void {
  if (place < 0) return;
  const px = width / execution.items.length;
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.strokeRect(Math.max(1, place * px), PHASE_PX + 1, Math.max(2, px), height - PHASE_PX - 2);
}

function draw(canvas: HTMLCanvasElement, drawing: Drawing): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const density = window.devicePixelRatio || 1;
  canvas.width = Math.round(drawing.width * density);
  canvas.height = Math.round(drawing.height * density);
  context.setTransform(density, 0, 0, density, 0, 0);
  drawPhases(context, drawing);
  drawOps(context, drawing);
  drawPlace(context, drawing, drawing.current, drawing.palette.current);
  drawPlace(context, drawing, drawing.selected, drawing.palette.select);
}

function placeOf(index: GraphIndex, execution: Execution, name: string | null): number {
  const item = name === null ? NONE : index.find(name);
  if (item === NONE || index.isScope(item)) return -1;
  const place = execution.places[item - index.scopeCount] as number;
  return place === NONE ? -1 : place;
}

// Selects ops as the place moves, without loading the details of each.
class Scrubber {
  private pending: number | null = null;
  private readonly select = throttle(() => this.apply(), SCRUB_MS);

  constructor(
    private readonly index: GraphIndex,
    private readonly execution: Execution,
  ) {}

  go(place: number): void {
    touch();
    this.pending = Math.min(this.execution.items.length - 1, Math.max(0, place));
    this.select();
  }

  // Where a key starts from: keys may repeat faster than ops are selected.
  from(selected: number): number {
    return this.pending ?? selected;
  }

  readonly end = (): void => this.select.cancel();

  private apply(): void {
    const item = this.pending === null ? undefined : this.execution.items[this.pending];
    this.pending = null;
    if (item !== undefined) selectNode(this.index.name(item), 'replace');
  }
}

function Strip({ index, execution }: { index: GraphIndex; execution: Execution }) {
  const { route, current, hitIndex } = useJobContext();
  const health = useHealth((state) => state.shown);
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const palette = usePalette(frame);
  const { width, height } = useElementSize(frame);
  const [hovered, setHovered] = useState<number | null>(null);
  const scrubber = useMemo(() => new Scrubber(index, execution), [index, execution]);
  useEffect(() => scrubber.end, [scrubber]);
  const hits = useMemo(() => {
    const items = [...hitIndex.keys()].map((name) => index.find(name));
    return new Set(items.filter((item) => item !== NONE && !index.isScope(item)));
  }, [hitIndex, index]);
  const columns = useMemo(() => columnsOf(execution, Math.max(1, width), health, hits), [execution, width, health, hits]);
  const selected = placeOf(index, execution, route?.node ?? null);
  const at = placeOf(index, execution, current);
  useLayoutEffect(() => {
    if (canvas.current === null || palette === null || width === 0) return;
    draw(canvas.current, { execution, columns, selected, current: at, palette, width, height });
  }, [execution, columns, selected, at, palette, width, height]);

  const isMarked = (item: number) => hits.has(item) || (health !== null && isBad(health.ofItem(item)));
  const last = execution.items.length - 1;
  const now = selected >= 0 ? selected : Math.max(0, at);
  const placeFrom = (event: PointerEvent) => {
    const { left, width: whole } = event.currentTarget.getBoundingClientRect();
    return placeAt(execution, (event.clientX - left) / whole, width, isMarked);
  };
  const textAt = (place: number) => {
    const name = index.name(execution.items[place] as number);
    const text = words.place(formatCount(place + 1), formatCount(last + 1), name);
    return [text, health?.text(name) ?? ''].filter((part) => part !== '').join('\n');
  };
  const onKey = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.round(PAGE_SHARE * last));
    const from = scrubber.from(now);
    const step = (by: 1 | -1) => (event.shiftKey ? nextMarked(execution, from, by, isMarked) : from + by);
    const places: Record<string, () => number> = {
      ArrowLeft: () => step(-1),
      ArrowDown: () => step(-1),
      ArrowRight: () => step(1),
      ArrowUp: () => step(1),
      PageDown: () => from - page,
      PageUp: () => from + page,
      Home: () => 0,
      End: () => last,
    };
    const place = places[event.key];
    if (place !== undefined) scrubber.go(place());
    else if (event.key === 'Enter') revealNode(index.name(execution.items[now] as number), 'replace');
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={frame}
      className="execution"
      role="slider"
      tabIndex={0}
      aria-label={words.timeline}
      aria-description={words.timelineKeys}
      aria-valuemin={1}
      aria-valuemax={last + 1}
      aria-valuenow={now + 1}
      aria-valuetext={textAt(now)}
      title={hovered === null ? undefined : textAt(hovered)}
      onKeyDown={onKey}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        scrubber.go(placeFrom(event));
      }}
      onPointerMove={(event) => {
        const place = placeFrom(event);
        setHovered(place);
        if (event.buttons === 1) scrubber.go(place);
      }}
      onPointerLeave={() => setHovered(null)}
      onDoubleClick={() => revealNode(index.name(execution.items[now] as number), 'replace')}
    >
      <canvas ref={canvas} aria-hidden />
    </div>
  );
}

export function ExecutionStrip() {
  const index = useScopes((state) => state.index);
  const execution = useMemo(() => (index === null ? null : executionOf(index)), [index]);
  if (index === null || execution === null || execution.items.length === 0) {
    return <div className="execution execution-empty">{words.noExecution}</div>;
  }
  return <Strip index={index} execution={execution} />;
}
