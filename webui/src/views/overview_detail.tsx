// One module over the steps: the distribution of its results as bands of quantiles, and its
// other measures as small curves.

import { X } from 'lucide-react';
import { useMemo } from 'react';
import type { OverviewPoint, OverviewStep } from '../api/types';
import { formatNumber } from '../base/format';
import { bandPath, extent, linearPlace, linePath } from '../overview/curves';
import { distributionScale } from '../overview/distribution';
import { isLogarithmic, MEASURES, type Measure } from '../overview/measures';
import type { Row } from '../overview/rows';
import type { Frame, Span } from '../overview/span';
import { describe } from '../state/describe';
import { useOverviewModule } from '../state/overview_store';
import { useSelectedRank } from '../state/router';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import * as words from '../words/overview';
import { useJobContext } from './job_context';
import { useHovered } from './overview_hover';
import { rowName, type Shown } from './overview_shown';
import { Curves } from './overview_tracks';

interface Props {
  row: Row;
  shown: Shown;
  span: Span;
  frame: Frame;
  onClose: () => void;
}

const BAND_PX = 104;
const CURVE_PX = 26;

// The points by column; null where the module was not measured.
function inColumns(points: readonly OverviewPoint[], steps: readonly OverviewStep[]): Array<OverviewPoint | null> {
  const byStep = new Map(points.map((point) => [point.step, point]));
  return steps.map(({ step }) => byStep.get(step) ?? null);
}

type Column = Array<number | null>;

interface Bands {
  min: Column;
  max: Column;
  // From 0.05 to 0.95; without quantiles, mean and deviation stand for them.
  inner: Column[];
  hasQuantiles: boolean;
}

const sum = (a: number | null, b: number | null) => (a === null || b === null ? null : a + b);

function bandsOf(points: ReadonlyArray<OverviewPoint | null>): Bands {
  const column = (of: (point: OverviewPoint) => number | null | undefined): Column => points.map((point) => (point === null ? null : (of(point) ?? null)));
  const hasQuantiles = points.some((point) => (point?.quantiles ?? null) !== null);
  const inner = hasQuantiles
    ? [0, 1, 2, 3, 4].map((i) => column(({ quantiles }) => quantiles?.[i]))
    : [column(({ mean, deviation }) => sum(mean, deviation === null ? null : -deviation)), column(({ mean }) => mean), column(({ mean, deviation }) => sum(mean, deviation))];
  return { min: column(({ min }) => min), max: column(({ max }) => max), inner, hasQuantiles };
}

function BandPlot({ bands, span, frame, label }: { bands: Bands; span: Span; frame: Frame; label: string }) {
  const { min, max, inner, hasQuantiles } = bands;
  const scale = useMemo(() => distributionScale(min, max, inner[0] ?? [], inner.at(-1) ?? []), [min, max, inner]);
  const paths = useMemo(() => {
    if (scale === null) return null;
    const at = (i: number) => inner[i] ?? [];
    const middle = (inner.length - 1) / 2;
    return {
      range: bandPath(min, max, scale.place),
      most: bandPath(at(0), at(inner.length - 1), scale.place),
      half: hasQuantiles ? bandPath(at(1), at(3), scale.place) : '',
      middle: linePath(at(middle), scale.place),
    };
  }, [scale, min, max, inner, hasQuantiles]);
  if (scale === null || paths === null) return <p className="overview-none">{words.noDistribution}</p>;
  return (
    <svg width={frame.left + frame.width + 12} height={BAND_PX} role="img" aria-label={label}>
      {scale.ticks.map((tick) => {
        const y = 4 + scale.place(tick) * (BAND_PX - 8);
        return (
          <g key={tick}>
            <line className="plot-grid" x1={frame.left} x2={frame.left + frame.width} y1={y} y2={y} />
            <text className="plot-tick" x={frame.left - 5} y={y + 3.5} textAnchor="end">
              {formatNumber(tick, 2)}
            </text>
          </g>
        );
      })}
      <Curves span={span} frame={frame} top={4} height={BAND_PX - 8}>
        <path className="overview-band overview-band-range" d={paths.range} />
        <path className="overview-band overview-band-most" d={paths.most} />
        <path className="overview-band overview-band-half" d={paths.half} />
        <path className="overview-curve overview-median" d={paths.middle} />
      </Curves>
    </svg>
  );
}

function SmallCurve({ measure, points, span, frame }: { measure: Measure; points: ReadonlyArray<OverviewPoint | null>; span: Span; frame: Frame }) {
  const values = useMemo(() => points.map((point) => point?.[measure] ?? null), [points, measure]);
  const path = useMemo(() => {
    const shown = isLogarithmic(measure) ? values.map((value) => (value !== null && value > 0 ? Math.log10(value) : null)) : values;
    const range = extent(shown);
    return range === null ? '' : linePath(shown, linearPlace(...range));
  }, [values, measure]);
  if (path === '') return null;
  const last = values.findLast((value) => value !== null) ?? NaN;
  return (
    <svg width={frame.left + frame.width + 12} height={CURVE_PX} role="img" aria-label={words.lastValue(words.views[measure], words.formatMeasure(measure, last))}>
      <text className="overview-gutter" x={8} y={17}>
        {words.views[measure]}
      </text>
      <text className="plot-tick" x={frame.left - 5} y={17} textAnchor="end">
        {words.formatMeasure(measure, last)}
      </text>
      <Curves span={span} frame={frame} top={3} height={CURVE_PX - 6}>
        <path className={`overview-curve${measure === 'non_finite' ? ' overview-bad-curve' : ''}`} d={path} />
      </Curves>
    </svg>
  );
}

// The figures of the hovered step, else of the last one.
function Figures({ points, steps }: { points: ReadonlyArray<OverviewPoint | null>; steps: readonly OverviewStep[] }) {
  const column = useHovered(({ cell }) => cell?.column ?? -1);
  const at = column >= 0 ? column : points.findLastIndex((point) => point !== null);
  const point = points[at];
  if (point === null || point === undefined) return null;
  const { min, max, mean, deviation, quantiles } = point;
  const text = words.figures([
    [words.figureNames.min, min],
    [words.figureNames.low, quantiles?.[0] ?? null],
    [words.figureNames.median, quantiles?.[2] ?? null],
    [words.figureNames.high, quantiles?.[4] ?? null],
    [words.figureNames.max, max],
    [words.figureNames.mean, mean],
    [words.figureNames.deviation, deviation],
  ]);
  return (
    <span className="ellipsis mono muted" title={text}>
      {words.step(steps[at]?.step ?? 0)}: {text}
    </span>
  );
}

export function OverviewDetail({ row, shown, span, frame, onClose }: Props) {
  const { id } = useJobContext();
  const rank = useSelectedRank();
  const { steps } = shown.data;
  const module = row.folded === null ? row.path : null;
  const answer = useOverviewModule(id, rank, module, steps.at(-1)?.step ?? 0);
  const points = useMemo(() => inColumns(answer.data?.points ?? [], steps), [answer.data, steps]);
  const bands = useMemo(() => bandsOf(points), [points]);
  const name = rowName(row);
  const label = words.distribution(name);
  return (
    <section className="overview-detail" aria-label={label}>
      <header className="overview-detail-head">
        <h3 className="mono ellipsis" title={name}>
          {name}
        </h3>
        {answer.data !== undefined && <Figures points={points} steps={steps} />}
        <span className="grow" />
        <Button label={words.closeDistribution} icon={X} iconOnly small tone="quiet" onClick={onClose} />
      </header>
      {module === null ? (
        <p className="overview-none">{words.severalModules}</p>
      ) : answer.data === undefined ? (
        <Notice title={answer.error === null ? words.loadingDistribution : describe(answer.error)} busy={answer.error === null} />
      ) : (
        <div className="overview-detail-body" tabIndex={0} role="group" aria-label={words.curvesOf(name)}>
          <BandPlot bands={bands} span={span} frame={frame} label={label} />
          <ul className="overview-legend overview-band-legend">
            {(bands.hasQuantiles ? (['range', 'most', 'half', 'median'] as const) : (['range', 'deviation', 'mean'] as const)).map((band) => (
              <li key={band}>
                <span className={`overview-swatch overview-swatch-${band}`} /> {words.bands[band]}
              </li>
            ))}
          </ul>
          {MEASURES.map((measure) => (
            <SmallCurve key={measure} measure={measure} points={points} span={span} frame={frame} />
          ))}
        </div>
      )}
    </section>
  );
}
