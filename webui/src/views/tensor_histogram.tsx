// The histogram of a slice, with separate bars for NaN and the infinities.

import { useRef, useState } from 'react';
import type { Histogram, Statistics } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import { toNumber } from '../base/numbers';
import { linearScale, logScale } from '../base/ticks';
import { describe } from '../state/describe';
import { useHistogram, type ValueQuery } from '../state/queries';
import { Notice } from '../widgets/notice';
import { useElementSize } from '../widgets/use_size';
import { elements, finiteElements } from '../words/counts';
import { specialNames } from '../words/tensor';
import * as words from '../words/tensor_views';
import { StatisticsTable } from './statistics_line';
import '../widgets/plot.css';
import './tensor_histogram.css';

const BINS = [32, 64, 128, 256];
const MARGIN = { left: 58, right: 12, top: 10, bottom: 24 };
// Width of the bars of NaN and the infinities, at the right.
const SPECIAL_PX = 46;

interface Bar {
  count: number;
  from: number;
  to: number;
  kind: 'bar' | 'bar-nan' | 'bar-inf' | 'bar-neg-inf';
  text: string;
  sign: string;
}

function barsOf(histogram: Histogram, inner: number): Bar[] {
  const specials = [
    { count: histogram.neg_inf_count, kind: 'bar-neg-inf', text: specialNames.neg_inf, sign: '▼' },
    { count: histogram.pos_inf_count, kind: 'bar-inf', text: specialNames.inf, sign: '▲' },
    { count: histogram.nan_count, kind: 'bar-nan', text: specialNames.nan, sign: '✕' },
  ] as const;
  const beside = specials.filter(({ count }) => count > 0);
  const width = inner - beside.length * SPECIAL_PX;
  const edges = histogram.edges.map(toNumber);
  const size = width / Math.max(1, histogram.counts.length);
  const bars: Bar[] = histogram.counts.map((count, i) => ({
    count,
    from: i * size,
    to: (i + 1) * size,
    kind: 'bar',
    text: `${formatNumber(edges[i])} … ${formatNumber(edges[i + 1])}`,
    sign: '',
  }));
  const others = beside.map((special, i) => ({
    ...special,
    from: width + i * SPECIAL_PX + 12,
    to: width + (i + 1) * SPECIAL_PX - 6,
  }));
  return [...bars, ...others];
}

function Bars({ histogram, log, at, onAt }: { histogram: Histogram; log: boolean; at: number | null; onAt: (at: number | null, bars: Bar[]) => void }) {
  const frame = useRef<HTMLDivElement>(null);
  const { width, height } = useElementSize(frame);
  const inner = {
    width: Math.max(1, width - MARGIN.left - MARGIN.right),
    height: Math.max(1, height - MARGIN.top - MARGIN.bottom),
  };
  const bars = barsOf(histogram, inner.width);
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  const steps = Math.max(2, Math.floor(inner.height / 30));
  const scale = log ? logScale(0.5, most, steps) : linearScale(0, most, steps);
  const tall = (count: number) => (count === 0 ? 0 : Math.max(1, scale.place(count) * inner.height));
  const base = MARGIN.top + inner.height;
  const edges = histogram.edges.map(toNumber);
  const values = linearScale(edges[0] ?? 0, edges.at(-1) ?? 1, Math.max(2, Math.floor(inner.width / 90)));
  const finite = bars.filter((bar) => bar.kind === 'bar');
  const end = finite.at(-1)?.to ?? 0;
  return (
    <div
      ref={frame}
      className="plot"
      role="group"
      aria-label={words.histogram}
      aria-description={words.histogramKeys}
      tabIndex={0}
      onKeyDown={(event) => {
        const from = at ?? -1;
        const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: bars.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        onAt(Math.max(0, Math.min(bars.length - 1, to)), bars);
      }}
      onPointerMove={(event) => {
        const x = event.clientX - event.currentTarget.getBoundingClientRect().left - MARGIN.left;
        const found = bars.findIndex((bar) => x >= bar.from && x < bar.to);
        onAt(found < 0 ? null : found, bars);
      }}
    >
      {width > 0 && (
        <svg width={width} height={height} aria-hidden>
          {scale.ticks.filter((tick) => log ? tick >= 1 : Number.isInteger(tick)).map((tick) => (
            <g key={tick}>
              <line className="plot-grid" x1={MARGIN.left} x2={width - MARGIN.right} y1={base - tall(tick)} y2={base - tall(tick)} />
              <text className="plot-tick" x={MARGIN.left - 8} y={base - tall(tick) + 3.5} textAnchor="end">
                {formatNumber(tick, 3)}
              </text>
            </g>
          ))}
          {bars.map((bar, i) => (
            <g key={bar.text}>
              <rect
                className={i === at && bar.kind === 'bar' ? 'plot-bar-active' : `plot-${bar.kind}`}
                x={MARGIN.left + bar.from}
                width={Math.max(0.5, bar.to - bar.from - (bar.to - bar.from > 4 ? 1 : 0))}
                y={base - tall(bar.count)}
                height={tall(bar.count)}
              />
              {bar.sign !== '' && (
                <text className="plot-tick" x={MARGIN.left + (bar.from + bar.to) / 2} y={base + 16} textAnchor="middle">
                  {bar.sign} {bar.text}
                </text>
              )}
            </g>
          ))}
          <line className="plot-axis" x1={MARGIN.left} x2={MARGIN.left + end} y1={base} y2={base} />
          {finite.length > 0 &&
            values.ticks.map((tick) => (
              <text key={tick} className="plot-tick" x={MARGIN.left + values.place(tick) * end} y={base + 16} textAnchor="middle">
                {formatNumber(tick, 3)}
              </text>
            ))}
        </svg>
      )}
    </div>
  );
}

interface Props {
  query: ValueQuery;
  statistics: Statistics | null;
  // The step of the statistics if it is an earlier one, else null.
  old: number | null;
}

export function TensorHistogram({ query, statistics, old }: Props) {
  const [bins, setBins] = useState(64);
  const [log, setLog] = useState(false);
  const [text, setText] = useState('');
  const [at, setAt] = useState<number | null>(null);
  const histogram = useHistogram(query, bins);
  if (histogram.error !== null) {
    return (
      <Notice title={words.noHistogram}>
        <p>{describe(histogram.error)}</p>
      </Notice>
    );
  }
  if (histogram.data === undefined) return <Notice title={words.loadingHistogram} busy />;
  const { counts, nan_count, pos_inf_count, neg_inf_count } = histogram.data;
  const finite = counts.reduce((sum, count) => sum + count, 0);
  const others = nan_count + pos_inf_count + neg_inf_count;
  return (
    <div className="histogram">
      <div className="histogram-main">
        <div className="view-bar">
          <label className="view-choice">
            <select
              className="field histogram-bins"
              aria-label={words.bins}
              value={bins}
              onChange={(event) => setBins(Number(event.target.value))}
            >
              {BINS.map((count) => (
                <option key={count} value={count}>
                  {words.binCount(count)}
                </option>
              ))}
            </select>
          </label>
          <label className="view-choice">
            <input type="checkbox" checked={log} onChange={(event) => setLog(event.target.checked)} />
            {words.logCounts}
          </label>
          <span className="grow" />
          <span className="muted">
            {words.inThisSlice(finiteElements(finite))}
            {others > 0 && words.notFinite(formatCount(others))}
          </span>
        </div>
        <div className="view-plot">
          <Bars
            histogram={histogram.data}
            log={log}
            at={at}
            onAt={(next, bars) => {
              const bar = next === null ? undefined : bars[next];
              setAt(next);
              setText(bar === undefined ? '' : words.barCount(bar.text, elements(bar.count)));
            }}
          />
        </div>
        <footer className="values-foot">
          <span className="mono ellipsis" aria-live="polite">
            {text}
          </span>
        </footer>
      </div>
      {statistics !== null && <StatisticsTable statistics={statistics} old={old} />}
    </div>
  );
}
