// The ops of one step over time, one lane per thread: by pointer and by keys, and the slowest ones
// as a table.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { Category, OverviewOps } from '../api/types';
import { labelOf } from '../base/names';
import { visible } from '../base/visible';
import { phaseOf } from '../graph/phase';
import { lanesOf, opAt, opBefore, slowestOf, type Lane } from '../overview/op_lanes';
import { columnAt, panSpan, pixelsPerColumn, placeOf, wholeSpan, zoomSpan, type Frame, type Span } from '../overview/span';
import { revealNode } from '../state/scopes';
import { touch } from '../state/ui';
import { useElementSize } from '../widgets/use_size';
import * as words from '../words/overview';
import { useJobContext } from './job_context';
import { AXIS_PX, drawOps, laneHeight, readOpTheme, type OpPicture, type OpPlace } from './op_painter';
import { ZOOM } from './overview_head';
import { useTheme } from './use_theme';

interface Props {
  data: OverviewOps;
  span: Span;
  onSpan: (change: (span: Span) => Span) => void;
}

const GUTTER_PX = 72;
const RIGHT_PX = 8;
const DRAG_PX = 3;
const WHEEL_ZOOM = 1.0015;
// How far beside an op it is still under the pointer.
const SLACK_PX = 2;

export function select(node: string): void {
  touch();
  revealNode(node);
}

function pictureOf({ ops }: OverviewOps): OpPicture {
  const lanes = lanesOf(ops);
  return {
    lanes,
    labels: ops.map(({ node }) => visible(labelOf(node))),
    categories: ops.map(({ node }): Category => phaseOf(node) ?? 'other'),
    names: lanes.map(({ thread }) => words.thread(thread)),
    timeText: words.microseconds,
  };
}

function summarise({ step, ops, duration_us }: OverviewOps, lanes: number): string {
  const slowest = ops[slowestOf(ops, 1)[0] ?? -1];
  const count = words.opsCount(ops.length, lanes, duration_us);
  return words.opsPicture(step, count, slowest === undefined ? '–' : `${visible(slowest.node)}, ${words.opTime(slowest.duration_us, duration_us)}`);
}

interface Pointer extends OpPlace {
  x: number;
  y: number;
}

const TIP = { width: 214, height: 84, gap: 14 };

function Tip({ data, lanes, pointer, width, height }: { data: OverviewOps; lanes: readonly Lane[]; pointer: Pointer; width: number; height: number }) {
  const op = data.ops[lanes[pointer.lane]?.ops[pointer.place] ?? -1];
  if (op === undefined) return null;
  const left = pointer.x + TIP.gap + TIP.width > width ? pointer.x - TIP.gap - TIP.width : pointer.x + TIP.gap;
  const place = pointer.y + TIP.gap + TIP.height > height ? { bottom: Math.max(0, height - pointer.y + TIP.gap) } : { top: pointer.y + TIP.gap };
  return (
    <div className="overview-tip" style={{ left: Math.max(2, left), ...place }} aria-hidden>
      <b className="mono">{visible(op.node)}</b>
      <span className="overview-tip-value">{words.opTime(op.duration_us, data.duration_us)}</span>
      <span>
        {visible(op.op_type)} · {words.thread(op.thread)}
      </span>
    </div>
  );
}

export function OpTimeline({ data, span, onSpan }: Props) {
  const { route } = useJobContext();
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useElementSize(place);
  const theme = useTheme(place, readOpTheme);
  const picture = useMemo(() => pictureOf(data), [data]);
  const summary = useMemo(() => summarise(data, picture.lanes.length), [data, picture]);
  const [cursor, setCursor] = useState<OpPlace | null>(null);
  const [pointer, setPointer] = useState<Pointer | null>(null);
  const [said, setSaid] = useState('');
  const { lanes } = picture;
  const frame = useMemo<Frame>(() => ({ left: GUTTER_PX, width: Math.max(1, size.width - GUTTER_PX - RIGHT_PX) }), [size.width]);
  const height = laneHeight(lanes.length, size.height);
  const selected = useMemo(() => data.ops.findIndex(({ node }) => node === route?.node), [data, route?.node]);
  useEffect(() => {
    setCursor(null);
    setPointer(null);
  }, [data.step]);

  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || theme === null || size.width === 0) return;
    const ratio = window.devicePixelRatio;
    const [width, tall] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (element.width !== width) element.width = width;
    if (element.height !== tall) element.height = tall;
    drawOps(context, picture, { width: size.width, height: size.height, frame, span, cursor, selected }, theme);
  }, [picture, theme, size, frame, span, cursor, selected]);

  // In the listener below, which is added once.
  const latest = useRef({ frame, onSpan, span, length: data.duration_us });
  useEffect(() => {
    latest.current = { frame, onSpan, span, length: data.duration_us };
  });
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const onWheel = (event: WheelEvent) => {
      const { frame, onSpan, span, length } = latest.current;
      const across = event.shiftKey ? event.deltaY : event.deltaX;
      if (!event.ctrlKey && Math.abs(across) > (event.shiftKey ? 0 : Math.abs(event.deltaY))) {
        onSpan((now) => panSpan(now, across / pixelsPerColumn(now, frame), length));
      } else {
        const x = event.clientX - element.getBoundingClientRect().left;
        const at = Math.min(span.to, Math.max(span.from, columnAt(x, span, frame)));
        onSpan((now) => zoomSpan(now, WHEEL_ZOOM ** -event.deltaY, at, length));
      }
      event.preventDefault();
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, []);

  const opOf = ({ lane, place }: OpPlace) => data.ops[lanes[lane]?.ops[place] ?? -1];
  // The op under the pointer, or null.
  const under = (event: React.PointerEvent): Pointer | null => {
    const box = event.currentTarget.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const lane = Math.floor((y - AXIS_PX) / height);
    const found = lanes[lane];
    if (found === undefined || x < frame.left) return null;
    const at = opAt(found, columnAt(x, span, frame), SLACK_PX / pixelsPerColumn(span, frame));
    return at < 0 ? null : { lane, place: at, x, y };
  };
  const drag = useRef<{ x: number; span: Span; dragging: boolean } | null>(null);

  const move = (to: OpPlace) => {
    const lane = Math.min(lanes.length - 1, Math.max(0, to.lane));
    const found = lanes[lane];
    if (found === undefined) return;
    const next = { lane, place: Math.min(found.ops.length - 1, Math.max(0, to.place)) };
    const op = opOf(next);
    if (op === undefined) return;
    setCursor(next);
    const [start, end] = [op.start_us, op.start_us + op.duration_us];
    onSpan((now) => {
      const by = start < now.from ? start - now.from : end > now.to ? Math.min(end - now.to, start - now.from) : 0;
      return by === 0 ? now : panSpan(now, by, data.duration_us);
    });
    setSaid(`${visible(op.node)}: ${words.opTime(op.duration_us, data.duration_us)}`);
  };
  const onKey = (event: React.KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const first = lanes[0];
    if (first === undefined) return;
    const here = cursor ?? { lane: 0, place: opBefore(first, span.from) };
    const time = opOf(here)?.start_us ?? 0;
    const toLane = (by: number): OpPlace => {
      const lane = lanes[here.lane + by];
      return lane === undefined ? here : { lane: here.lane + by, place: opBefore(lane, time) };
    };
    const by = event.shiftKey ? 10 : 1;
    const to: Partial<Record<string, OpPlace>> = {
      ArrowLeft: { ...here, place: here.place - by },
      ArrowRight: { ...here, place: here.place + by },
      ArrowUp: toLane(-1),
      ArrowDown: toLane(1),
      Home: { ...here, place: 0 },
      End: { ...here, place: Infinity },
    };
    const next = to[event.key];
    const op = opOf(here);
    // The first arrow key shows where the cursor is.
    if (next !== undefined) move(cursor === null && event.key.startsWith('Arrow') ? here : next);
    else if (event.key === 'Enter' && op !== undefined) select(op.node);
    else if (event.key === '+' || event.key === '=') onSpan((now) => zoomSpan(now, ZOOM, time, data.duration_us));
    else if (event.key === '-') onSpan((now) => zoomSpan(now, 1 / ZOOM, time, data.duration_us));
    else if (event.key === '0') onSpan(() => wholeSpan(data.duration_us));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const at = cursor === null ? undefined : opOf(cursor);
  const shown = pointer ?? (cursor === null || at === undefined ? null : { ...cursor, x: placeOf(Math.max(span.from, at.start_us), span, frame), y: AXIS_PX + (cursor.lane + 1) * height });
  return (
    <div className="op-timeline-frame">
      <div
        ref={place}
        className="op-timeline"
        role="group"
        aria-label={words.opsOverTime}
        aria-description={words.opKeys}
        tabIndex={0}
        onKeyDown={onKey}
        onBlur={() => setCursor(null)}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          drag.current = { x: event.clientX, span, dragging: false };
        }}
        onPointerMove={(event) => {
          const start = drag.current;
          if (start === null) {
            setPointer(under(event));
            return;
          }
          const dx = event.clientX - start.x;
          if (!start.dragging && Math.abs(dx) < DRAG_PX) return;
          start.dragging = true;
          setPointer(null);
          onSpan(() => panSpan(start.span, -dx / pixelsPerColumn(start.span, frame), data.duration_us));
        }}
        onPointerUp={(event) => {
          const start = drag.current;
          drag.current = null;
          const found = under(event);
          const op = found === null ? undefined : opOf(found);
          if (start !== null && !start.dragging && op !== undefined) select(op.node);
        }}
        onPointerLeave={() => setPointer(null)}
      >
        <canvas ref={canvas} role="img" aria-label={summary} />
      </div>
      {shown !== null && <Tip data={data} lanes={lanes} pointer={shown} width={size.width} height={size.height} />}
      <p className="visually-hidden" role="status">
        {said}
      </p>
    </div>
  );
}
