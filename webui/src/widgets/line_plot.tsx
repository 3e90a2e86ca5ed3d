// Lines over steps. Arrow keys and the pointer move a cursor from point to point, and the
// parent is notified of its position.

import { useRef } from 'react';
import { formatNumber } from '../base/format';
import { extent } from '../base/numbers';
import { linearScale, logScale, type Scale } from '../base/ticks';
import { historyKeys } from '../words/tensor_views';
import { useElementSize } from './use_size';
import './plot.css';

export interface Series {
  name: string;
  // Colour and dashes, from 1 to 6.
  style: number;
  // Null leaves a gap in the line.
  values: Array<number | null>;
}

export interface PlotMark {
  x: number;
  title: string;
}

interface Props {
  label: string;
  x: readonly number[];
  series: readonly Series[];
  // Marks at the bottom for hits, and at the top for steps with non-finite values.
  hits: readonly PlotMark[];
  nans: readonly PlotMark[];
  log: boolean;
  // An index into `x`, or null for no cursor.
  cursor: number | null;
  onCursor: (cursor: number | null) => void;
}

const MARGIN = { left: 62, right: 14, top: 16, bottom: 30 };
const MAX_DOTS = 80;

function valueScale(series: readonly Series[], log: boolean, ticks: number): Scale {
  const all = series.flatMap(({ values }) => values.filter((value) => value !== null));
  const finite = all.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (finite.length === 0) return log ? logScale(0.1, 10, ticks) : linearScale(0, 1, ticks);
  const { low, high } = extent(finite);
  if (log) return logScale(low, high, ticks);
  const room = (high - low) * 0.04;
  return linearScale(low - room, high + room, ticks);
}

type Points = ReadonlyArray<readonly [number, number] | null>;

// A path of the segments for which `wanted`, given the index of the second point, is true.
export function pathOf(points: Points, wanted: (place: number) => boolean): string {
  let path = '';
  let pen = -1;
  points.forEach((point, i) => {
    const before = points[i - 1];
    if (point === null || before === null || before === undefined || !wanted(i)) return;
    const text = ([x, y]: readonly [number, number]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
    path += pen === i - 1 ? `L${text(point)}` : `M${text(before)}L${text(point)}`;
    pen = i;
  });
  return path;
}

function nearest(xs: readonly number[], x: number): number | null {
  let best: number | null = null;
  xs.forEach((other, i) => {
    if (best === null || Math.abs(other - x) < Math.abs((xs[best] as number) - x)) best = i;
  });
  return best;
}

export function LinePlot({ label, x, series, hits, nans, log, cursor, onCursor }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const { width, height } = useElementSize(frame);
  const inner = {
    width: Math.max(1, width - MARGIN.left - MARGIN.right),
    height: Math.max(1, height - MARGIN.top - MARGIN.bottom),
  };
  const across = linearScale(x[0] ?? 0, x.at(-1) ?? 1, Math.max(2, Math.floor(inner.width / 80)));
  const down = valueScale(series, log, Math.max(2, Math.floor(inner.height / 34)));
  const left = (step: number) => MARGIN.left + across.place(step) * inner.width;
  const top = (value: number) => MARGIN.top + (1 - down.place(value)) * inner.height;
  const base = MARGIN.top + inner.height;
  const places = x.map(left);
  // False if steps between the two points have no data.
  const isNext = (i: number) => (x[i] as number) - (x[i - 1] as number) === 1;

  const move = (event: React.KeyboardEvent) => {
    const from = cursor ?? x.length;
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: x.length - 1 }[event.key];
    if (to === undefined || x.length === 0) return;
    event.preventDefault();
    onCursor(Math.max(0, Math.min(x.length - 1, to)));
  };
  return (
    <div
      ref={frame}
      className="plot"
      role="group"
      aria-label={label}
      aria-description={historyKeys}
      tabIndex={0}
      onKeyDown={move}
      onPointerMove={(event) => {
        const place = event.currentTarget.getBoundingClientRect();
        onCursor(nearest(places, event.clientX - place.left));
      }}
    >
      {width > 0 && (
        <svg width={width} height={height} aria-hidden>
          {down.ticks.map((tick) => (
            <g key={tick}>
              <line className="plot-grid" x1={MARGIN.left} x2={width - MARGIN.right} y1={top(tick)} y2={top(tick)} />
              <text className="plot-tick" x={MARGIN.left - 8} y={top(tick) + 3.5} textAnchor="end">
                {formatNumber(tick, 3)}
              </text>
            </g>
          ))}
          <line className="plot-axis" x1={MARGIN.left} x2={width - MARGIN.right} y1={base} y2={base} />
          {across.ticks.filter(Number.isInteger).map((tick) => (
            <text key={tick} className="plot-tick" x={left(tick)} y={base + 17} textAnchor="middle">
              {tick}
            </text>
          ))}
          {hits.map((hit) => (
            <g key={`${hit.x} ${hit.title}`}>
              <line className="plot-hit-line" x1={left(hit.x)} x2={left(hit.x)} y1={MARGIN.top} y2={base} />
              <path className="plot-hit" d={`M${left(hit.x)} ${base - 1}l-5 9h10z`}>
                <title>{hit.title}</title>
              </path>
            </g>
          ))}
          {series.map(({ name, style, values }) => {
            const points = values.map((value, i) =>
              value === null || !Number.isFinite(value) || (log && value <= 0)
                ? null
                : ([places[i] as number, top(value)] as const),
            );
            return (
              <g key={name}>
                <path className={`plot-line plot-${style}`} d={pathOf(points, isNext)} />
                <path className={`plot-line plot-unknown plot-${style}`} d={pathOf(points, (i) => !isNext(i))} />
                {points.length <= MAX_DOTS &&
                  points.map((point, i) =>
                    point === null ? null : (
                      // oxlint-disable-next-line react/no-array-index-key
                      <circle key={i} className={`plot-point plot-${style}`} cx={point[0]} cy={point[1]} r={2.6} />
                    ),
                  )}
              </g>
            );
          })}
          {nans.map((mark) => (
            <text key={mark.x} className="plot-nan" x={left(mark.x)} y={MARGIN.top - 4}>
              ✕<title>{mark.title}</title>
            </text>
          ))}
          {cursor !== null && places[cursor] !== undefined && (
            <line className="plot-cursor" x1={places[cursor]} x2={places[cursor]} y1={MARGIN.top} y2={base} />
          )}
        </svg>
      )}
    </div>
  );
}
