// Curves over the steps above the picture: the loss with the hits, and the time of the steps.

import { memo, useMemo, useRef, useState } from 'react';
import type { OverviewStep } from '../api/types';
import { formatNumber } from '../base/format';
import { linearScale } from '../base/ticks';
import { barPath, extent, linearPlace, linePath } from '../overview/curves';
import { columnAt, panSpan, pixelsPerColumn, placeOf, spanBetween, zoomSpan, type Frame, type Span } from '../overview/span';
import { stepTicks } from '../overview/step_ticks';
import { columnOf, timeLimit } from '../overview/steps';
import { isRun } from '../base/run_id';
import { useJob } from '../state/job_store';
import { goToStep } from '../state/run_store';
import { useSelectedRank } from '../state/router';
import { touch } from '../state/ui';
import { useElementSize } from '../widgets/use_size';
import * as words from '../words/overview';
import { useJobContext } from './job_context';
import { OVERVIEW_BODY } from './overview_head';
import { hover } from './overview_hover';
import '../widgets/plot.css';

interface Props {
  steps: readonly OverviewStep[];
  span: Span;
  frame: Frame;
}

const LOSS_PX = 44;
const AXIS_PX = 15;
const DRAG_PX = 4;
const WHEEL_ZOOM = 1.0015;

// Puts curves in place that are drawn in units of columns, and from 0 to 1.
export function Curves({ span, frame, top, height, children }: { span: Span; frame: Frame; top: number; height: number; children: React.ReactNode }) {
  return (
    <svg x={frame.left} y={top} width={frame.width} height={height} overflow="hidden">
      <g transform={`scale(${pixelsPerColumn(span, frame)} ${height}) translate(${-span.from} 0)`}>{children}</g>
    </svg>
  );
}

// The number of hits by column.
export function useHitColumns(steps: readonly OverviewStep[]): ReadonlyMap<number, number> {
  const hits = useJob(({ model }) => model.hits);
  const rank = useSelectedRank();
  return useMemo(() => {
    const columns = new Map<number, number>();
    const first = steps[0]?.step ?? Infinity;
    const last = steps.at(-1)?.step ?? 0;
    for (const hit of hits) {
      if (hit.rank !== rank || hit.absorbed || hit.step < first || hit.step > last) continue;
      const column = columnOf(steps, hit.step);
      columns.set(column, (columns.get(column) ?? 0) + 1);
    }
    return columns;
  }, [hits, rank, steps]);
}

function Axis({ steps, span, frame, y }: Props & { y: number }) {
  return stepTicks(steps, span, frame).map(({ step, x, label_x }) => (
    <g key={step}>
      <line className="overview-tick" x1={x} x2={x} y1={y} y2={y + 3} />
      <text className="plot-tick" x={label_x} y={y + 13} textAnchor="middle">
        {step}
      </text>
    </g>
  ));
}

export const LossTrack = memo(function LossTrack({ steps, span, frame, onSpan }: Props & { onSpan: (change: (span: Span) => Span) => void }) {
  const { id } = useJobContext();
  const hits = useHitColumns(steps);
  const losses = useMemo(() => steps.map(({ loss }) => loss), [steps]);
  const range = useMemo(() => extent(losses), [losses]);
  const path = useMemo(() => (range === null ? '' : linePath(losses, linearPlace(...range))), [losses, range]);
  const bad = useMemo(() => steps.flatMap(({ has_loss, loss }, column) => (has_loss && loss === null ? [column] : [])), [steps]);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const columns = steps.length;
  const known = losses.filter((loss) => loss !== null);
  const summary = known.length === 0 ? words.noLoss : words.lossFrom(formatNumber(known[0], 4), formatNumber(known.at(-1), 4), bad.length);
  const at = (event: React.PointerEvent | React.WheelEvent) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
    return Math.min(span.to, Math.max(span.from, columnAt(x, span, frame)));
  };
  const x = (column: number) => placeOf(column + 0.5, span, frame);
  const inView = (column: number) => column + 1 > span.from && column < span.to;
  const bottom = LOSS_PX - 5;
  return (
    <div
      className="overview-loss"
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ from: at(event), to: at(event) });
      }}
      onPointerMove={(event) => {
        const to = at(event);
        const { left, top } = event.currentTarget.getBoundingClientRect();
        hover({ row: -1, column: Math.min(columns - 1, Math.floor(to)) }, event.clientX - left, event.clientY - top);
        if (drag !== null) setDrag({ ...drag, to });
      }}
      onPointerUp={() => {
        setDrag(null);
        if (drag === null) return;
        const moved = Math.abs(drag.to - drag.from) * pixelsPerColumn(span, frame);
        const step = steps[Math.floor(drag.from)]?.step;
        if (moved >= DRAG_PX) onSpan(() => spanBetween(drag.from, drag.to, columns));
        else if (isRun(id) && step !== undefined) {
          touch();
          goToStep(step);
        }
      }}
      onPointerLeave={() => hover(null)}
      onWheel={(event) => {
        const place = at(event);
        const across = event.shiftKey ? event.deltaY : event.deltaX;
        if (across !== 0) onSpan((now) => panSpan(now, across / pixelsPerColumn(now, frame), columns));
        else onSpan((now) => zoomSpan(now, WHEEL_ZOOM ** -event.deltaY, place, columns));
      }}
    >
      <svg width={frame.left + frame.width + 12} height={LOSS_PX + AXIS_PX} role="img" aria-label={words.lossCurve(summary)}>
        <text className="overview-gutter" x={8} y={17}>
          {words.loss}
        </text>
        <text className="overview-gutter overview-value" x={8} y={33}>
          {known.length === 0 ? words.noLoss : formatNumber(known.at(-1), 4)}
        </text>
        {range !== null && (
          <>
            <text className="plot-tick" x={frame.left - 5} y={12} textAnchor="end">
              {formatNumber(range[1], 3)}
            </text>
            {range[0] < range[1] && (
              <text className="plot-tick" x={frame.left - 5} y={bottom} textAnchor="end">
                {formatNumber(range[0], 3)}
              </text>
            )}
          </>
        )}
        <Curves span={span} frame={frame} top={4} height={bottom - 4}>
          <path className="overview-curve overview-loss-curve" d={path} />
        </Curves>
        {bad.filter(inView).map((column) => (
          <text key={column} className="overview-bad" x={x(column)} y={11}>
            ✕
          </text>
        ))}
        {[...hits.keys()].filter(inView).map((column) => (
          <path key={column} className="overview-hit" d={`M${x(column)} ${bottom - 3}l-3.5 7h7z`} />
        ))}
        <line className="plot-axis" x1={frame.left} x2={frame.left + frame.width} y1={LOSS_PX} y2={LOSS_PX} />
        <Axis steps={steps} span={span} frame={frame} y={LOSS_PX} />
        {drag !== null && (
          <rect className="overview-brush" x={placeOf(Math.min(drag.from, drag.to), span, frame)} width={Math.abs(drag.to - drag.from) * pixelsPerColumn(span, frame)} y={0} height={LOSS_PX} />
        )}
      </svg>
    </div>
  );
});

const TIME_ROOM = 8;

// The time of each step, and the part of it that measuring took. `low`: as one track of several.
export const TimeTrack = memo(function TimeTrack({ steps, span, frame, low = false }: Props & { low?: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  const { width, height } = useElementSize(place);
  const [from, to] = [Math.floor(span.from), Math.ceil(span.to)];
  const most = useMemo(() => Math.max(1e-6, timeLimit(steps.slice(from, to).map(({ duration_ms }) => duration_ms))), [steps, from, to]);
  const bars = useMemo(() => barPath(steps.map(({ duration_ms }) => duration_ms), most), [steps, most]);
  const measuring = useMemo(() => barPath(steps.map(({ measuring_ms }) => measuring_ms), most), [steps, most]);
  const cut = useMemo(() => steps.flatMap(({ duration_ms }, column) => (duration_ms > most * 1.001 && column >= from && column < to ? [column] : [])), [steps, most, from, to]);
  const inner = Math.max(1, height - 2 * TIME_ROOM);
  const { ticks, place: share } = linearScale(0, most, Math.max(2, Math.floor(inner / 40)));
  return (
    <div
      ref={place}
      id={low ? undefined : OVERVIEW_BODY}
      className={`overview-time${low ? ' overview-time-low' : ''}`}
      onPointerMove={(event) => {
        const { left, top } = event.currentTarget.getBoundingClientRect();
        const x = event.clientX - left;
        const column = Math.min(steps.length - 1, Math.floor(columnAt(x, span, frame)));
        if (x < frame.left) hover(null);
        else hover({ row: -1, column }, x, event.clientY - top + event.currentTarget.offsetTop);
      }}
      onPointerLeave={() => hover(null)}
    >
      {height > 0 && (
        <svg width={width} height={height} role="img" aria-label={words.durationsOf(words.milliseconds(most))}>
          {ticks.map((tick) => {
            const y = TIME_ROOM + (1 - share(tick)) * inner;
            return (
              <g key={tick}>
                <line className="plot-grid" x1={frame.left} x2={frame.left + frame.width} y1={y} y2={y} />
                <text className="plot-tick" x={frame.left - 6} y={y + 3.5} textAnchor="end">
                  {words.milliseconds(tick)}
                </text>
              </g>
            );
          })}
          <Curves span={span} frame={frame} top={TIME_ROOM} height={inner}>
            <path className="overview-bar" d={bars} />
            <path className="overview-bar-measuring" d={measuring} />
          </Curves>
          {/* Bars that are longer than the track. */}
          {cut.map((column) => (
            <path key={column} className="overview-cut" d={`M${placeOf(column + 0.5, span, frame)} 1l-4 6h8z`} />
          ))}
        </svg>
      )}
    </div>
  );
});
