// What is under the pointer: a line through all tracks, and a box with the value and the course
// of its row.

import { useMemo } from 'react';
import { isRun } from '../base/run_id';
import { extent, linearPlace, linePath } from '../overview/curves';
import type { Row } from '../overview/rows';
import { placeOf, type Frame, type Span } from '../overview/span';
import { columnOf } from '../overview/steps';
import { useJob } from '../state/job_store';
import type { Size } from '../widgets/use_size';
import * as words from '../words/overview';
import { useJobContext } from './job_context';
import { useHovered } from './overview_hover';
import { cellText, rowName, valuesOf, type Shown } from './overview_shown';
import { useHitColumns } from './overview_tracks';

function Line({ column, span, frame, className = '' }: { column: number; span: Span; frame: Frame; className?: string }) {
  if (column < 0 || column < Math.floor(span.from) || column >= span.to) return null;
  return <div className={`overview-line ${className}`} style={{ left: placeOf(column + 0.5, span, frame) }} />;
}

export function HoverLine(place: { span: Span; frame: Frame }) {
  return <Line column={useHovered(({ cell }) => cell?.column ?? -1)} {...place} />;
}

// The step at which a recorded run is shown.
export function StepLine({ shown, ...place }: { shown: Shown; span: Span; frame: Frame }) {
  const { id } = useJobContext();
  const step = useJob(({ model }) => model.info?.step ?? 0);
  return isRun(id) ? <Line column={columnOf(shown.data.steps, step)} className="overview-line-step" {...place} /> : null;
}

const SPARK = { width: 190, height: 26 };

// The values of a row over the steps in view.
function Sparkline({ shown, row, span, column, logarithmic }: { shown: Shown; row: Row; span: Span; column: number; logarithmic: boolean }) {
  const path = useMemo(() => {
    const values = valuesOf(shown, row);
    const [from, to] = [Math.floor(span.from), Math.ceil(span.to)];
    const part = Array.from(values.subarray(from, to), (value) => (logarithmic ? Math.log10(value) : value));
    const range = extent(part);
    return { d: range === null ? '' : linePath(part, linearPlace(...range)), count: part.length, from };
  }, [shown, row, span, logarithmic]);
  const scale = SPARK.width / Math.max(1, path.count);
  const x = (column - path.from + 0.5) * scale;
  return (
    <svg className="overview-spark" width={SPARK.width} height={SPARK.height} aria-hidden>
      <g transform={`scale(${scale} ${SPARK.height})`}>
        <path className="overview-curve" d={path.d} />
      </g>
      {column >= 0 && <line className="plot-cursor" x1={x} x2={x} y1={0} y2={SPARK.height} />}
    </svg>
  );
}

interface Props {
  shown: Shown;
  span: Span;
  time: boolean;
  logarithmic: boolean;
  // Of the panel.
  size: Size;
}

// The height is the largest one.
const BOX = { width: 214, height: 146, gap: 14 };
const HEAD_PX = 32;

export function OverviewTip({ shown, span, time, logarithmic, size }: Props) {
  const { cell, x, y } = useHovered();
  const hits = useHitColumns(shown.data.steps);
  if (cell === null) return null;
  const row = shown.rows[cell.row];
  const className = shown.classes[cell.row] ?? '';
  const step = shown.data.steps[cell.column];
  if (row === undefined && step === undefined) return null;
  const facts: string[] = [];
  if (step !== undefined) {
    facts.push(`${words.step(step.step)} · ${words.runModes[step.mode]}`);
    if (step.loss !== null) facts.push(words.lossIs(step.loss));
    else if (step.has_loss) facts.push(words.lossNotFinite);
    const count = hits.get(cell.column) ?? 0;
    if (count > 0) facts.push(words.hits(count));
  }
  const left = x + BOX.gap + BOX.width > size.width ? x - BOX.gap - BOX.width : x + BOX.gap;
  const below = y + HEAD_PX + BOX.gap;
  const place = below + BOX.height > size.height ? { bottom: size.height - y - HEAD_PX + BOX.gap } : { top: below };
  return (
    <div className="overview-tip" style={{ left: Math.max(2, left), ...place }} aria-hidden>
      {row !== undefined && <b className="mono">{rowName(row)}</b>}
      {className !== '' && <span>{className}</span>}
      {row !== undefined && step !== undefined && <span className="overview-tip-value">{cellText(shown, row, cell.column)}</span>}
      {step !== undefined && row === undefined && time && (
        <span className="overview-tip-value">{words.tookTime(words.milliseconds(step.duration_ms), words.milliseconds(step.measuring_ms))}</span>
      )}
      {facts.length > 0 && <span>{facts.join(' · ')}</span>}
      {row !== undefined && (
        <Sparkline shown={shown} row={row} span={span} column={cell.column} logarithmic={logarithmic} />
      )}
    </div>
  );
}
