// Compares a tensor with itself at another step, on another rank or in a recorded run, or with
// another tensor: both sets of values, their difference, and figures of how much they differ.

import { lazy, Suspense, useMemo, useState } from 'react';
import { Problem } from '../api/problem';
import type { ComparedPair, TensorSlice, TensorSummary } from '../api/types';
import { differenceOf } from '../base/elements';
import { formatCount, sentence } from '../base/format';
import { elementsIn, FIRST_ELEMENTS, sliceAround, type AxisRange } from '../base/slice';
import { isRun, runName } from '../base/run_id';
import { describe } from '../state/describe';
import { useJob } from '../state/job_store';
import { stepOf, stepsToCompare } from '../state/kept_steps';
import { useRun } from '../state/run_store';
import { useComparison, useSlice, type Tolerance, type ValueQuery } from '../state/queries';
import { patchRoute } from '../state/router';
import { touch } from '../state/ui';
import { gridOf, indexOfCell, type GridData } from '../widgets/grid_data';
import { Notice } from '../widgets/notice';
import { ValueGrid } from '../widgets/value_grid';
import type { ScrollGroup } from '../widgets/use_scroll_space';
import { loading } from '../words/common';
import { typeNotShown } from '../words/tensor';
import * as words from '../words/tensor_views';
import { AgainstChoice } from './against_choice';
import { CompareFigures, indexInTensor } from './compare_figures';
import { ComparedHistograms } from './compared_histograms';
import { FirstDifferences } from './first_differences';
import { useJobContext } from './job_context';
import { KeepOffer, useKeeper } from './keep_offer';
import { PeerOffer, usePeers } from './peer_offer';
import { againstOf, formatAgainst, isComplete, otherQuery, useSavedSteps, type Against } from './compare_side';
import { ReducedMap } from './reduced_map';
import { StatisticsCompare } from './statistics_compare';
import { axesOf } from './tensor_values';
import { UlpMap } from './ulp_map';
import './tensor_compare.css';

const HeatMap = lazy(async () => ({ default: (await import('../widgets/heat_map')).HeatMap }));

const isNotRecorded = (error: Error | null) => error instanceof Problem && error.code === 'not_recorded';
const isGone = (error: Error) => error instanceof Problem && error.code === 'value_gone';

function ToleranceField({ name, value, onChange }: { name: string; value: number; onChange: (value: number) => void }) {
  const [text, setText] = useState(String(value));
  const wrong = text.trim() === '' || !(Number(text) >= 0);
  const submit = () => !wrong && onChange(Number(text));
  return (
    <label className="compare-tolerance">
      <span className="muted">{name}</span>
      <input
        className="field mono"
        value={text}
        inputMode="decimal"
        aria-invalid={wrong || undefined}
        onChange={(event) => setText(event.target.value)}
        onBlur={submit}
        onKeyDown={(event) => event.key === 'Enter' && submit()}
      />
    </label>
  );
}

// The cell of an index that is counted within the slice.
function cellOfIndex(index: readonly number[], shape: readonly number[]): number {
  return index.reduce((cell, at, axis) => cell * (shape[axis] ?? 1) + at, 0);
}

interface GridsProps {
  // The other side of the comparison and the selected tensor.
  before: TensorSlice;
  after: TensorSlice;
  titles: readonly [string, string];
  axes: readonly AxisRange[];
  heat: boolean;
  active: number;
  onActive: (cell: number) => void;
}

function Grids({ before, after, titles, axes, heat, active, onActive }: GridsProps) {
  const [group] = useState<ScrollGroup>(() => ({ members: new Set() }));
  const grids = useMemo(() => {
    if (before.elements === null || after.elements === null) return null;
    const difference = differenceOf(before.elements, after.elements);
    return [before.elements, after.elements, difference].map((each) => gridOf(each, after.shape, heat));
  }, [before, after, heat]);
  if (grids === null) return <Notice title={typeNotShown(after.dtype)} />;
  const [a, b, d] = grids as [GridData, GridData, GridData];
  const scale = Math.max(a.scale, b.scale);
  const parts = [
    { side: 'before', grid: a, title: titles[0], scale },
    { side: 'after', grid: b, title: titles[1], scale },
    { side: 'difference', grid: d, title: words.difference, scale: d.scale },
  ];
  const at = Math.min(active, a.count - 1);
  const [from, to] = [a.elements.text(at), b.elements.text(at)];
  return (
    <>
      <div className="compare-grids">
        {parts.map(({ side, grid, title, scale: full }) => (
          <section key={side} aria-label={title}>
            <h3 className="mono ellipsis" title={title}>
              {title}
            </h3>
            <div className="compare-grid">
              {heat ? (
                <Suspense fallback={<Notice title={loading} busy />}>
                  <HeatMap
                    grid={grid}
                    label={words.heatMapTitle(title)}
                    summary={words.heatMapSummary(title, grid.rows, grid.columns)}
                    scale={full}
                    active={at}
                    onActive={onActive}
                    onHover={() => {}}
                  />
                </Suspense>
              ) : (
                <ValueGrid
                  grid={grid}
                  axes={axes}
                  label={words.valuesTitle(title)}
                  active={at}
                  onActive={onActive}
                  scale={full}
                  group={group}
                />
              )}
            </div>
          </section>
        ))}
      </div>
      <footer className="values-foot">
        <span className="mono ellipsis" aria-live="polite">
          {indexOfCell(axes, at)}: {from} → {to} (Δ {d.elements.text(at)})
        </span>
      </footer>
    </>
  );
}

function titleOf(query: ValueQuery, step: number, tensor: TensorSummary, ranks: number): string {
  const parts = [words.step(step)];
  if (ranks > 1) parts.unshift(words.rank(query.rank));
  if (query.name !== tensor.name) parts.unshift(query.name);
  if (isRun(query.job)) parts.unshift(runName(query.job));
  return parts.join(', ');
}

interface Props {
  tensor: TensorSummary;
  query: ValueQuery;
}

const WAYS = ['values', 'elements', 'heat', 'ulps', 'histograms'] as const;
type Way = (typeof WAYS)[number];

// Views of the figures that the server computes, which need no values.
const COMPUTED: ReadonlySet<Way> = new Set(['elements', 'ulps', 'histograms']);

export function TensorCompare({ tensor, query: shown }: Props) {
  const { route } = useJobContext();
  const ranks = useJob((state) => state.model.info?.world_size ?? 1);
  const [whole, setWhole] = useState(false);
  const query = useMemo(() => (whole ? { ...shown, slice: '', transposed: false } : shown), [whole, shown]);
  const saved = useSavedSteps(tensor, query);
  const against = againstOf(route?.against ?? null, saved);
  const complete = isComplete(against);
  const [tolerance, setTolerance] = useState<Tolerance>({ rtol: 1e-5, atol: 1e-8 });
  const [way, setWay] = useState<Way>('values');
  const [log, setLog] = useState(false);
  const [active, setActive] = useState(0);
  const now = useJob(({ model: { info } }) => info?.ranks.find(({ rank }) => rank === query.rank)?.step ?? info?.step ?? 0);
  const other = otherQuery(query, against, now);
  const steps = saved ?? stepsToCompare(query, now);
  const otherSaved = useSavedSteps(other, { ...query, name: other.name, rank: other.rank });
  const recorded = useRun((state) => state.steps);
  const gone = against.kind === 'step' && !steps.includes(Number(against.value));
  const before = against.kind === 'previous' || (against.kind === 'step' && stepOf(against.value, now) === now - 1);
  const enabled = query.enabled && complete && !gone;
  const elements = elementsIn(query.slice, tensor.shape) ?? 0;
  const all = elementsIn('', tensor.shape) ?? 0;
  // Too many elements to load the values.
  const reduced = elements > FIRST_ELEMENTS;
  const left = useSlice({ ...query, enabled: enabled && !reduced });
  const right = useSlice({ ...other, enabled: enabled && !reduced });
  const comparison = useComparison({ ...query, enabled }, formatAgainst(against), tolerance);
  const problem = comparison.error ?? right.error ?? left.error;
  const keeper = useKeeper('previous', tensor.node);
  const missing = saved === null && before && problem !== null && isGone(problem);
  // The previous values are still available, but will not be after the next step.
  const ends = saved === null && before && (keeper.state === 'off' || keeper.state === 'deleted');
  const peers = usePeers(tensor);
  const choose = (next: Against) => {
    touch();
    patchRoute({ against: next.kind === 'previous' ? null : formatAgainst(next) });
  };
  // Nothing to compare with so far: the job may still have the values of another layer.
  const elsewhere = missing || (saved === null && (gone || !complete));
  const sideTitle = (side: ValueQuery, step = stepOf(side.step, now)) => titleOf(side, step, tensor, ranks);
  const body = () => {
    if (!complete) return <Notice title={words.choose[against.kind]} />;
    if ((saved !== null && gone) || isNotRecorded(problem)) {
      return <StatisticsCompare before={other} after={query} titles={[sideTitle(other), sideTitle(query)]} saved={steps} />;
    }
    if (gone) return <Notice title={words.stepGone(against.value)}>{words.keptSteps(steps)}</Notice>;
    if (missing) return null;
    if (problem !== null) return <Notice title={words.nothingToCompare}>{describe(problem)}</Notice>;
    const sides = comparison.data;
    if (COMPUTED.has(way) || reduced) {
      if (sides === undefined) return <Notice title={words.loadingBoth} busy />;
      const titles = [sideTitle(other, sides.right.step), sideTitle(query, sides.left.step)] as const;
      if (way === 'histograms' && sides.histograms !== null) {
        return <ComparedHistograms histograms={sides.histograms} titles={titles} log={log} />;
      }
      if (way === 'elements') return <FirstDifferences comparison={sides} shape={tensor.shape} titles={titles} onGo={go} />;
      if (way === 'ulps') return <UlpMap comparison={sides} query={{ ...query, enabled }} against={formatAgainst(against)} />;
      if (way === 'values') return <Notice title={words.tooManyValues} />;
      return <ReducedMaps query={{ ...query, enabled }} against={formatAgainst(against)} titles={titles} />;
    }
    if (left.data === undefined || right.data === undefined) return <Notice title={words.loadingBoth} busy />;
    if (left.data.shape.join() !== right.data.shape.join()) {
      return <Notice title={words.shapesDiffer} />;
    }
    return (
      <Grids
        before={right.data}
        after={left.data}
        titles={[sideTitle(other, right.data.step), sideTitle(query, left.data.step)]}
        axes={axesOf(left.data, tensor.shape)}
        heat={way === 'heat'}
        active={active}
        onActive={setActive}
      />
    );
  };
  const go = ({ index }: ComparedPair) => {
    if (!reduced) {
      if (way !== 'heat') setWay('values');
      setActive(cellOfIndex(query.transposed ? index.toReversed() : index, left.data?.shape ?? []));
      return;
    }
    const place = indexInTensor(index, query.slice, tensor.shape);
    setWhole(false);
    setWay('values');
    patchRoute({ slice: sliceAround(place, tensor.shape) });
  };
  return (
    <div className={`compare${missing || gone || !complete ? '' : ' compare-full'}`}>
      <div className="compare-bar">
        <AgainstChoice
          against={against}
          tensor={tensor}
          steps={steps}
          otherSteps={otherSaved ?? stepsToCompare(query, now)}
          recorded={saved === null ? null : recorded}
          peers={peers}
          onChange={choose}
        />
        <ToleranceField name="rtol" value={tolerance.rtol} onChange={(rtol) => setTolerance({ ...tolerance, rtol })} />
        <ToleranceField name="atol" value={tolerance.atol} onChange={(atol) => setTolerance({ ...tolerance, atol })} />
        <select
          className="field compare-way"
          aria-label={words.shown}
          value={way}
          onChange={(event) => setWay(event.target.value as Way)}
        >
          {WAYS.map((each) => (
            <option key={each} value={each}>
              {words.ways[each]}
            </option>
          ))}
        </select>
        {way === 'histograms' && (
          <label className="view-choice">
            <input type="checkbox" checked={log} onChange={(event) => setLog(event.target.checked)} />
            {words.logCounts}
          </label>
        )}
        {(whole || elements < all) && (
          <label className="view-choice" title={words.wholeHint(formatCount(all))}>
            <input
              type="checkbox"
              checked={whole}
              onChange={(event) => {
                setWhole(event.target.checked);
                if (event.target.checked && way === 'values' && all > FIRST_ELEMENTS) setWay('heat');
              }}
            />
            {words.wholeTensor}
          </label>
        )}
      </div>
      {comparison.data !== undefined && <CompareFigures comparison={comparison.data} shape={tensor.shape} onGo={go} />}
      {(missing || ends) && (
        <KeepOffer
          what="previous"
          node={tensor.node}
          keeper={keeper}
          otherwise={problem === null ? '' : sentence(describe(problem))}
        />
      )}
      {elsewhere && (
        <PeerOffer peers={peers} slot={tensor.slot} onChoose={(value) => choose({ kind: 'tensor', value })} />
      )}
      {body()}
    </div>
  );
}

interface MapsProps {
  query: ValueQuery;
  against: string;
  titles: readonly [string, string];
}

function ReducedMaps({ query, against, titles }: MapsProps) {
  const parts = [
    { of: 'right', title: titles[0] },
    { of: 'left', title: titles[1] },
    { of: 'difference', title: words.difference },
  ] as const;
  return (
    <div className="compare-grids">
      {parts.map(({ of, title }) => (
        <section key={of} aria-label={title}>
          <h3 className="mono ellipsis" title={title}>
            {title}
          </h3>
          <ReducedMap query={query} title={title} of={of} against={against} />
        </section>
      ))}
    </div>
  );
}
