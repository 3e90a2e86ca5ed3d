// Compares a tensor with itself at another step or on another rank, or with another tensor:
// both sets of values, their difference, and figures of how much they differ.

import { CircleCheck, CircleX } from 'lucide-react';
import { lazy, Suspense, useEffect, useId, useMemo, useState } from 'react';
import { Problem } from '../api/problem';
import type { Comparison, TensorSlice, TensorSummary } from '../api/types';
import { differenceOf } from '../base/elements';
import { formatCount, formatNumber } from '../base/format';
import type { AxisRange } from '../base/slice';
import { isRun, runId, runName } from '../base/run_id';
import { describe } from '../state/describe';
import { useJob } from '../state/job_store';
import { stepOf, stepsToCompare } from '../state/kept_steps';
import { useRun } from '../state/run_store';
import { useComparison, useRuns, useSlice, type Tolerance, type ValueQuery } from '../state/queries';
import { patchRoute } from '../state/router';
import { touch } from '../state/ui';
import type { Peer } from '../index/peers';
import { gridOf, indexOfCell, type GridData } from '../widgets/grid_data';
import { Notice } from '../widgets/notice';
import { ValueGrid } from '../widgets/value_grid';
import type { ScrollGroup } from '../widgets/use_scroll_space';
import { loading } from '../words/common';
import { typeNotShown } from '../words/tensor';
import * as words from '../words/tensor_views';
import { useJobContext } from './job_context';
import { KeepOffer, useKeeper } from './keep_offer';
import { PeerOffer, usePeers } from './peer_offer';
import { againstOf, parseRunSide, useSavedSteps, type Against } from './compare_side';
import { StatisticsCompare } from './statistics_compare';
import { axesOf } from './tensor_values';
import './tensor_compare.css';

const HeatMap = lazy(async () => ({ default: (await import('../widgets/heat_map')).HeatMap }));

export function formatAgainst({ kind, value }: Against): string {
  return kind === 'previous' ? kind : `${kind}:${value}`;
}

// The request for the values of the other side. `now` is the step of a job whose query names none.
export function otherQuery(query: ValueQuery, { kind, value }: Against, now = 0): ValueQuery {
  switch (kind) {
    case 'previous':
      return { ...query, step: 'previous' };
    case 'step':
      return { ...query, step: value };
    case 'rank':
      return { ...query, rank: Number(value) };
    case 'tensor':
      return { ...query, name: value };
    case 'run': {
      const { run, rank, step } = parseRunSide(value);
      return { ...query, job: runId(run), rank: rank ?? query.rank, step: step ?? query.step ?? String(now) };
    }
  }
}

const isNotRecorded = (error: Error | null) => error instanceof Problem && error.code === 'not_recorded';
const isGone = (error: Error) => error instanceof Problem && error.code === 'value_gone';

function isComplete({ kind, value }: Against): boolean {
  if (kind === 'previous') return true;
  if (kind === 'tensor') return /:\d+$/.test(value);
  if (kind === 'run') return parseRunSide(value).run !== '';
  return /^\d+$/.test(value);
}

// The recorded runs that the server has, except the one that the page shows.
function useOtherRuns(): readonly string[] {
  const { id } = useJobContext();
  const { data } = useRuns();
  return useMemo(() => (data?.runs ?? []).map((run) => run.id).filter((run) => runId(run) !== id), [data, id]);
}

interface ChoiceProps {
  against: Against;
  tensor: TensorSummary;
  // The steps whose values the job may have.
  steps: readonly number[];
  // All steps of a recorded run, of which some have no values; null for a job.
  recorded: readonly number[] | null;
  // The same op in other layers.
  peers: readonly Peer[];
  onChange: (against: Against) => void;
}

function AgainstChoice({ against, tensor, steps, recorded, peers, onChange }: ChoiceProps) {
  const list = useId();
  const info = useJob((state) => state.model.info);
  const { route } = useJobContext();
  const others = (info?.ranks ?? []).filter(({ rank }) => rank !== (route?.rank ?? 0));
  const [text, setText] = useState(against.value);
  useEffect(() => setText(against.value), [against.value, against.kind]);
  const runs = useOtherRuns();
  const pick = (kind: Against['kind']) => {
    const first = {
      previous: '',
      step: String((steps[0] ?? recorded?.find((step) => String(step) !== route?.step)) ?? ''),
      rank: String(others[0]?.rank ?? 0),
      tensor: peers[0] === undefined ? '' : `${peers[0].name}:${tensor.slot}`,
      run: runs[0] ?? '',
    };
    onChange({ kind, value: first[kind] });
  };
  return (
    <>
      <select
        className="field compare-kind"
        aria-label={words.compareWith}
        value={against.kind}
        onChange={(event) => pick(event.target.value as Against['kind'])}
      >
        <option value="previous">{words.previousStep}</option>
        <option value="step" disabled={steps.length === 0 && (recorded ?? []).length < 2}>
          {words.anotherStep}
        </option>
        <option value="rank" disabled={others.length === 0}>
          {words.anotherRank}
        </option>
        <option value="tensor">{words.anotherTensor}</option>
        <option value="run" disabled={runs.length === 0}>
          {words.anotherRun}
        </option>
      </select>
      {against.kind === 'run' && (
        <select
          className="field compare-run"
          aria-label={words.toCompare.run}
          value={parseRunSide(against.value).run}
          onChange={(event) => onChange({ kind: 'run', value: event.target.value })}
        >
          {[...new Set([...runs, parseRunSide(against.value).run])].map((run) => (
            <option key={run}>{run}</option>
          ))}
        </select>
      )}
      {against.kind === 'rank' && (
        <select
          className="field compare-rank"
          aria-label={words.rankToCompare}
          value={against.value}
          onChange={(event) => onChange({ kind: 'rank', value: event.target.value })}
        >
          {others.map(({ rank }) => (
            <option key={rank} value={rank}>
              {words.rank(rank)}
            </option>
          ))}
        </select>
      )}
      {against.kind === 'step' && recorded !== null && (
        <RecordedStepField step={against.value} saved={steps} onChange={(value) => onChange({ kind: 'step', value })} />
      )}
      {against.kind === 'step' && recorded === null && (
        <select
          className="field compare-step"
          aria-label={words.toCompare.step}
          value={against.value}
          onChange={(event) => onChange({ kind: 'step', value: event.target.value })}
        >
          {/* A link may name a step that is gone. */}
          {[...new Set([...steps.map(String), against.value])].map((step) => (
            <option key={step} value={step}>
              {words.step(Number(step))}
            </option>
          ))}
        </select>
      )}
      {against.kind === 'tensor' && (
        <input
          className="field mono compare-tensor"
          aria-label={words.toCompare.tensor}
          list={list}
          placeholder={words.placeholders.tensor}
          spellCheck={false}
          value={text}
          aria-invalid={!isComplete({ ...against, value: text }) || undefined}
          onChange={(event) => setText(event.target.value)}
          onBlur={() => text !== against.value && onChange({ ...against, value: text.trim() })}
          onKeyDown={(event) => event.key === 'Enter' && onChange({ ...against, value: text.trim() })}
        />
      )}
      <datalist id={list}>
        {peers.map(({ name }) => (
          <option key={name} value={`${name}:${tensor.slot}`} />
        ))}
      </datalist>
    </>
  );
}

// Any step of a recorded run; those with values are suggested.
function RecordedStepField({ step, saved, onChange }: { step: string; saved: readonly number[]; onChange: (step: string) => void }) {
  const [text, setText] = useState(step);
  useEffect(() => setText(step), [step]);
  const list = useId();
  const wrong = !/^\d+$/.test(text.trim());
  const submit = () => !wrong && text.trim() !== step && onChange(text.trim());
  return (
    <>
      <input
        className="field mono compare-step"
        aria-label={words.toCompare.step}
        inputMode="numeric"
        list={list}
        value={text}
        aria-invalid={wrong || undefined}
        onChange={(event) => setText(event.target.value)}
        onBlur={submit}
        onKeyDown={(event) => event.key === 'Enter' && submit()}
      />
      <datalist id={list}>
        {saved.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  );
}

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

function Figures({ comparison, onGo }: { comparison: Comparison; onGo: () => void }) {
  const { first_not_close: first } = comparison;
  const share = comparison.not_close_count / Math.max(1, comparison.count);
  const blank = comparison.all_close && comparison.non_finite_count === comparison.count;
  const count = formatCount(comparison.count);
  const verdict = blank
    ? words.equalButNotFinite(count)
    : comparison.all_close
      ? words.allClose(count)
      : words.notClose(formatCount(comparison.not_close_count), count, formatNumber(share * 100, 3));
  const tone = blank ? '' : comparison.all_close ? 'compare-close' : 'compare-apart';
  const facts: Array<[string, string]> = [
    [words.figures.maxAbs, formatNumber(comparison.max_abs_difference)],
    [words.figures.meanAbs, formatNumber(comparison.mean_abs_difference)],
    [words.figures.maxRelative, formatNumber(comparison.max_relative_difference)],
    [words.figures.cosine, formatNumber(comparison.cosine, 7)],
  ];
  return (
    <dl className="stats compare-figures" aria-label={words.comparison}>
      <div className={tone}>
        {comparison.all_close ? <CircleCheck aria-hidden size={14} /> : <CircleX aria-hidden size={14} />}
        <dt className="visually-hidden">{words.figures.verdict}</dt>
        <dd>{verdict}</dd>
      </div>
      {facts.map(([label, text]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd className="mono">{text}</dd>
        </div>
      ))}
      {comparison.non_finite_count > 0 && (
        <div title={words.notFiniteHint}>
          <dt>{words.figures.notFinite}</dt>
          <dd className="mono">{formatCount(comparison.non_finite_count)}</dd>
        </div>
      )}
      {first !== null && (
        <div>
          <dt>{words.figures.firstAt}</dt>
          <dd>
            <button type="button" className="link mono compare-first" onClick={onGo}>
              [{first.index.join(', ')}]
            </button>
          </dd>
        </div>
      )}
    </dl>
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

export function TensorCompare({ tensor, query }: Props) {
  const { route } = useJobContext();
  const ranks = useJob((state) => state.model.info?.world_size ?? 1);
  const saved = useSavedSteps(tensor, query);
  const against = againstOf(route?.against ?? null, saved);
  const complete = isComplete(against);
  const [tolerance, setTolerance] = useState<Tolerance>({ rtol: 1e-5, atol: 1e-8 });
  const [heat, setHeat] = useState(false);
  const [active, setActive] = useState(0);
  const now = useJob(({ model: { info } }) => info?.ranks.find(({ rank }) => rank === query.rank)?.step ?? info?.step ?? 0);
  const other = otherQuery(query, against, now);
  const steps = saved ?? stepsToCompare(query, now);
  const recorded = useRun((state) => state.steps);
  const gone = against.kind === 'step' && !steps.includes(Number(against.value));
  const before = against.kind === 'previous' || (against.kind === 'step' && stepOf(against.value, now) === now - 1);
  const enabled = query.enabled && complete && !gone;
  const left = useSlice({ ...query, enabled });
  const right = useSlice({ ...other, enabled });
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
  const sideTitle = (side: ValueQuery) => titleOf(side, Number(side.step ?? now), tensor, ranks);
  const body = () => {
    if (!complete) return <Notice title={words.choose[against.kind]} />;
    if ((saved !== null && gone) || isNotRecorded(problem)) {
      return <StatisticsCompare before={other} after={query} titles={[sideTitle(other), sideTitle(query)]} saved={steps} />;
    }
    if (gone) return <Notice title={words.stepGone(against.value)}>{words.keptSteps(steps)}</Notice>;
    if (missing) return null;
    if (problem !== null) return <Notice title={words.nothingToCompare}>{describe(problem)}</Notice>;
    if (left.data === undefined || right.data === undefined) return <Notice title={words.loadingBoth} busy />;
    if (left.data.shape.join() !== right.data.shape.join()) {
      return <Notice title={words.shapesDiffer} />;
    }
    const titles = [
      titleOf(other, right.data.step, tensor, ranks),
      titleOf(query, left.data.step, tensor, ranks),
    ] as const;
    return (
      <Grids
        before={right.data}
        after={left.data}
        titles={titles}
        axes={axesOf(left.data, tensor.shape)}
        heat={heat}
        active={active}
        onActive={setActive}
      />
    );
  };
  const shape = left.data?.shape ?? [];
  return (
    <div className="compare">
      <div className="compare-bar">
        <AgainstChoice
          against={against}
          tensor={tensor}
          steps={steps}
          recorded={saved === null ? null : recorded}
          peers={peers}
          onChange={choose}
        />
        <ToleranceField name="rtol" value={tolerance.rtol} onChange={(rtol) => setTolerance({ ...tolerance, rtol })} />
        <ToleranceField name="atol" value={tolerance.atol} onChange={(atol) => setTolerance({ ...tolerance, atol })} />
        <label className="view-choice">
          <input type="checkbox" checked={heat} onChange={(event) => setHeat(event.target.checked)} />
          {words.heatMap}
        </label>
      </div>
      {comparison.data !== undefined && (
        <Figures
          comparison={comparison.data}
          onGo={() => {
            const first = comparison.data.first_not_close;
            if (first === null) return;
            setActive(cellOfIndex(query.transposed ? first.index.toReversed() : first.index, shape));
          }}
        />
      )}
      {(missing || ends) && (
        <KeepOffer
          what="previous"
          node={tensor.node}
          keeper={keeper}
          otherwise={problem === null ? '' : describe(problem)}
        />
      )}
      {elsewhere && (
        <PeerOffer peers={peers} slot={tensor.slot} onChoose={(value) => choose({ kind: 'tensor', value })} />
      )}
      {body()}
    </div>
  );
}
