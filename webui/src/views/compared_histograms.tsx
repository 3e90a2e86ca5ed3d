// The histograms of both sides of a comparison over each other, and that of their difference.

import { useRef } from 'react';
import type { Comparison, HistogramCounts } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import { toNumber } from '../base/numbers';
import { linearScale, logScale } from '../base/ticks';
import { Notice } from '../widgets/notice';
import { useElementSize } from '../widgets/use_size';
import * as words from '../words/tensor_views';
import '../widgets/plot.css';

const MARGIN = { left: 58, right: 12, top: 10, bottom: 24 };

interface PlotProps {
  label: string;
  // With the same edges.
  histograms: readonly HistogramCounts[];
  log: boolean;
}

function specialsOf({ nan_count, pos_inf_count, neg_inf_count }: HistogramCounts): number {
  return nan_count + pos_inf_count + neg_inf_count;
}

// Outlines, so that none hides another.
function Outlines({ label, histograms, log }: PlotProps) {
  const frame = useRef<HTMLDivElement>(null);
  const { width, height } = useElementSize(frame);
  const edges = (histograms[0]?.edges ?? []).map(toNumber);
  const inner = {
    width: Math.max(1, width - MARGIN.left - MARGIN.right),
    height: Math.max(1, height - MARGIN.top - MARGIN.bottom),
  };
  const most = Math.max(1, ...histograms.flatMap(({ counts }) => counts));
  const steps = Math.max(2, Math.floor(inner.height / 30));
  const down = log ? logScale(0.5, most, steps) : linearScale(0, most, steps);
  const across = linearScale(edges[0] ?? 0, edges.at(-1) ?? 1, Math.max(2, Math.floor(inner.width / 90)));
  const base = MARGIN.top + inner.height;
  const top = (count: number) => base - (count === 0 ? 0 : Math.max(1, down.place(count) * inner.height));
  const left = (edge: number) => MARGIN.left + across.place(edge) * inner.width;
  const outline = (counts: readonly number[]) => {
    const points = counts.map((count, i) => `V${top(count)}H${left(edges[i + 1] ?? 0)}`);
    return `M${left(edges[0] ?? 0)} ${base}${points.join('')}V${base}`;
  };
  if (edges.length === 0) return <Notice title={words.noFinite} />;
  const summary = words.histogramSummary(label, formatNumber(edges[0]), formatNumber(edges.at(-1)), formatCount(most));
  return (
    <div ref={frame} className="plot">
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label={summary}>
          {down.ticks.filter((tick) => (log ? tick >= 1 : Number.isInteger(tick))).map((tick) => (
            <g key={tick}>
              <line className="plot-grid" x1={MARGIN.left} x2={width - MARGIN.right} y1={top(tick)} y2={top(tick)} />
              <text className="plot-tick" x={MARGIN.left - 8} y={top(tick) + 3.5} textAnchor="end">
                {formatNumber(tick, 3)}
              </text>
            </g>
          ))}
          {histograms.map(({ counts }, i) => (
            // oxlint-disable-next-line react/no-array-index-key
            <path key={i} className={`plot-line plot-${i + 1}`} d={outline(counts)} />
          ))}
          <line className="plot-axis" x1={MARGIN.left} x2={width - MARGIN.right} y1={base} y2={base} />
          {across.ticks.map((tick) => (
            <text key={tick} className="plot-tick" x={left(tick)} y={base + 16} textAnchor="middle">
              {formatNumber(tick, 3)}
            </text>
          ))}
        </svg>
      )}
    </div>
  );
}

interface Props {
  histograms: NonNullable<Comparison['histograms']>;
  // Of the other side and of this one.
  titles: readonly [string, string];
  log: boolean;
}

export function ComparedHistograms({ histograms: { left, right, difference }, titles, log }: Props) {
  const sides = [
    [titles[1], left],
    [titles[0], right],
  ] as const;
  return (
    <div className="compare-histograms">
      <section aria-label={words.bothHistograms}>
        <h3 className="compare-legend">
          {sides.map(([title, side], i) => (
            <span key={title} className="mono ellipsis" title={title}>
              <svg width="18" height="8" aria-hidden>
                <path className={`plot-line plot-${i + 1}`} d="M0 4H18" />
              </svg>
              {title}
              {specialsOf(side) > 0 && words.notFinite(formatCount(specialsOf(side)))}
            </span>
          ))}
        </h3>
        <div className="compare-plot">
          <Outlines label={words.bothHistograms} histograms={[left, right]} log={log} />
        </div>
      </section>
      <section aria-label={words.differenceHistogram}>
        <h3>{words.differenceHistogram}</h3>
        <div className="compare-plot">
          <Outlines label={words.differenceHistogram} histograms={[difference]} log={log} />
        </div>
      </section>
    </div>
  );
}
