// The values of a slice as numbers or as a heat map, and the selected one below.

import { ArrowDown, Lock, LockOpen } from 'lucide-react';
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import type { Statistics, TensorSlice, TensorSummary } from '../api/types';
import { formatCount, formatNumber, formatShape } from '../base/format';
import { parseSlice, type AxisRange } from '../base/slice';
import { endMeasure, measureToPaint, SLICE_PAINT } from '../base/timing';
import type { ValueQuery } from '../state/queries';
import { lockScale, useUi } from '../state/ui';
import { Button } from '../widgets/button';
import { gridOf, indexOfCell, nextSpecial, type GridData } from '../widgets/grid_data';
import { Notice } from '../widgets/notice';
import { Spinner } from '../widgets/spinner';
import { ValueGrid } from '../widgets/value_grid';
import { loading } from '../words/common';
import * as words from '../words/tensor';
import { useJobContext } from './job_context';
import { isSearchable, isSearchedUnasked, placeAfter, useSpecialSearch } from './special_search';

const HeatMap = lazy(async () => ({ default: (await import('../widgets/heat_map')).HeatMap }));

// The elements of the slice on each axis. If the tensor had another shape at that step,
// they are counted from 0.
export function axesOf(value: TensorSlice, shape: readonly number[]): AxisRange[] {
  const parsed = parseSlice(value.slice, shape);
  const own = value.transposed ? value.shape.toReversed() : value.shape;
  const axes =
    parsed.ok && parsed.shape.join() === own.join()
      ? parsed.axes
      : own.map((count, axis) => ({ axis, start: 0, step: 1, count, dropped: false }));
  return value.transposed ? axes.toReversed() : axes;
}

function summaryOf(grid: GridData, scale: number): string {
  const { nan, inf, neg_inf } = grid.special;
  const specials = [
    [nan, words.specialNames.nan],
    [inf, words.specialNames.inf],
    [neg_inf, words.specialNames.neg_inf],
  ] as const;
  const parts = specials.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  const rest = parts.length === 0 ? words.allFinite : parts.join(', ');
  return words.gridSummary(grid.rows, grid.columns, formatNumber(scale), rest);
}

const SPECIALS = [
  ['nan', 'nan', words.specialMarks.nan],
  ['inf', 'inf', words.specialMarks.inf],
  ['neg_inf', 'neg-inf', words.specialMarks.neg_inf],
] as const;

// Explains the colours of the heat map.
export function HeatLegend({ grid, scale }: { grid: GridData; scale: number }) {
  return (
    <span className="heat-legend" role="group" aria-label={words.colourScale}>
      {scale > 0 && (
        <>
          <span className="mono">{formatNumber(-scale, 3)}</span>
          <span className="heat-ramp" aria-hidden />
          <span className="mono">{formatNumber(scale, 3)}</span>
        </>
      )}
      {SPECIALS.filter(([key]) => grid.special[key] > 0).map(([key, kind, label]) => (
        <span key={key} className={`special special-${kind}`}>
          {label} {grid.special[key]}
        </span>
      ))}
    </span>
  );
}

// Slices whose time to paint has been measured. A slice that is shown again is not measured,
// since it arrived long ago.
const painted = new WeakSet<TensorSlice>();

interface Props {
  value: TensorSlice;
  tensor: TensorSummary;
  query: ValueQuery;
  // Statistics of the whole tensor, if known.
  statistics: Statistics | null;
  fetching: boolean;
  heat: boolean;
}

// The number of values of the whole tensor that are not finite; at least that of the slice.
function specialsOf(statistics: Statistics | null, inSlice: number): number {
  if (statistics === null) return inSlice;
  const { nan_count, pos_inf_count, neg_inf_count } = statistics;
  return Math.max(inSlice, nan_count + pos_inf_count + neg_inf_count);
}

export function TensorValues({ value, tensor, query, statistics, fetching, heat }: Props) {
  const axes = useMemo(() => axesOf(value, tensor.shape), [value, tensor.shape]);
  const grid = useMemo(
    () => (value.elements === null ? null : gridOf(value.elements, value.shape, heat)),
    [value, heat],
  );
  // Until the user chooses a cell of the slice, the first value that is not finite is selected.
  const sought = useUi((state) => state.sought);
  const [chosen, setChosen] = useState<{ slice: string; cell: number; sought: number } | null>(null);
  const choose = (cell: number) => setChosen({ slice: value.slice, cell, sought });
  const special = grid === null ? 0 : grid.special.nan + grid.special.inf + grid.special.neg_inf;
  const all = specialsOf(statistics, special);
  const { search, busy } = useSpecialSearch(query, tensor.shape);
  const initial = useJobContext().route?.slice === null;
  // The first slice may have none of them.
  const elsewhere = initial && !fetching && special === 0 && all > 0 && isSearchedUnasked(tensor.shape);
  const searched = useRef<{ value: TensorSlice; sought: number } | null>(null);
  useEffect(() => {
    if (!elsewhere || (searched.current?.value === value && searched.current.sought === sought)) return;
    searched.current = { value, sought };
    void search(0);
  }, [elsewhere, value, sought, search]);
  const [hovered, setHovered] = useState<number | null>(null);
  const locked = useUi((state) => state.locked_scales.get(tensor.name));
  useEffect(() => {
    endMeasure('graphdbg:slice');
    if (!painted.has(value)) measureToPaint(SLICE_PAINT, value.received_at);
    painted.add(value);
  }, [value]);
  if (grid === null) {
    return <Notice title={words.typeNotShown(value.dtype)}>{words.downloadInstead}</Notice>;
  }
  if (grid.count === 0) {
    return <Notice title={words.emptySlice}>{words.shapeIs(formatShape(value.shape))}</Notice>;
  }
  const first = special > 0 ? nextSpecial(grid, grid.count - 1) : 0;
  const active = Math.min(chosen?.slice === value.slice && chosen.sought === sought ? chosen.cell : first, grid.count - 1);
  const scale = locked ?? grid.scale;
  const read = heat ? (hovered ?? active) : active;
  const next = async () => {
    const cell = special > 0 ? nextSpecial(grid, active) : -1;
    const inside = cell > active || all === special || !isSearchable(tensor.shape);
    // The search may come back to this slice.
    if (inside || (await search(placeAfter(axes, tensor.shape))) === value.slice) choose(cell);
  };
  return (
    <>
      <div className="values-grid">
        {heat ? (
          <Suspense fallback={<Notice title={loading} busy />}>
            <HeatMap
              grid={grid}
              label={words.heatMapOf(value.name)}
              summary={summaryOf(grid, scale)}
              scale={scale}
              active={active}
              onActive={choose}
              onHover={setHovered}
            />
          </Suspense>
        ) : (
          <ValueGrid
            key={sought}
            grid={grid}
            axes={axes}
            label={words.valuesOf(value.name)}
            active={active}
            scale={scale}
            onActive={choose}
          />
        )}
      </div>
      <footer className="values-foot">
        <span className="mono ellipsis" aria-live={heat ? undefined : 'polite'}>
          {indexOfCell(axes, read)} = {grid.elements.text(read)}
        </span>
        <span className="grow" />
        {fetching && <Spinner />}
        {heat && <HeatLegend grid={grid} scale={scale} />}
        <Button
          label={locked === undefined ? words.lockScale : words.unlockScale}
          icon={locked === undefined ? LockOpen : Lock}
          iconOnly
          small
          tone="quiet"
          pressed={locked !== undefined}
          hint={locked === undefined ? words.lockScaleHint : words.scaleLocked(formatNumber(locked))}
          onClick={() => lockScale(tensor.name, locked === undefined ? grid.scale : null)}
        />
        {all > 0 && (special > 0 || isSearchable(tensor.shape)) && (
          <Button
            label={words.nextSpecial(formatCount(special), formatCount(all))}
            hint={words.nextSpecialHint}
            icon={ArrowDown}
            small
            tone="quiet"
            pending={busy}
            onClick={() => void next()}
          />
        )}
      </footer>
    </>
  );
}
