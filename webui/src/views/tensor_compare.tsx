// A tensor beside itself at another step or on another rank, or beside another one:
// both, their difference, and how far apart they are.

import { CircleCheck, CircleX } from 'lucide-react';
import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import { describe, Problem } from '../api/problem';
import type { Comparison, TensorSlice, TensorSummary } from '../api/types';
import { differenceOf } from '../base/elements';
import { formatCount, formatNumber } from '../base/format';
import type { AxisRange } from '../base/slice';
import { useJob } from '../state/job_store';
import { useComparison, useSlice, type Tolerance, type ValueQuery } from '../state/queries';
import { patchRoute } from '../state/router';
import { touch } from '../state/ui';
import { gridOf, indexOfCell, type GridData } from '../widgets/grid_data';
import { Notice } from '../widgets/notice';
import { ValueGrid } from '../widgets/value_grid';
import type { ScrollGroup } from '../widgets/use_scroll_space';
import { useJobContext } from './job_context';
import { KeepOffer, useKeeper } from './keep_offer';
import { axesOf } from './tensor_values';
import './tensor_compare.css';

const HeatMap = lazy(async () => ({ default: (await import('../widgets/heat_map')).HeatMap }));

// "step:3" and the like, as the server takes it.
export interface Against {
  kind: 'previous' | 'step' | 'rank' | 'tensor';
  value: string;
}

export function parseAgainst(text: string | null): Against {
  const match = /^(step|rank|tensor):(.+)$/.exec(text ?? '');
  if (match === null) return { kind: 'previous', value: '' };
  return { kind: match[1] as Against['kind'], value: match[2] ?? '' };
}

export function formatAgainst({ kind, value }: Against): string {
  return kind === 'previous' ? kind : `${kind}:${value}`;
}

// The other side's own request.
export function otherQuery(query: ValueQuery, { kind, value }: Against): ValueQuery {
  switch (kind) {
    case 'previous':
      return { ...query, step: 'previous' };
    case 'step':
      return { ...query, step: value };
    case 'rank':
      return { ...query, rank: Number(value) };
    case 'tensor':
      return { ...query, name: value };
  }
}

const isGone = (error: Error) => error instanceof Problem && error.code === 'value_gone';

function isComplete({ kind, value }: Against): boolean {
  if (kind === 'previous') return true;
  if (kind === 'tensor') return /:\d+$/.test(value);
  return /^\d+$/.test(value);
}

interface ChoiceProps {
  against: Against;
  tensor: TensorSummary;
  onChange: (against: Against) => void;
}

function AgainstChoice({ against, tensor, onChange }: ChoiceProps) {
  const info = useJob((state) => state.model.info);
  const { route } = useJobContext();
  const others = (info?.ranks ?? []).filter(({ rank }) => rank !== (route?.rank ?? 0));
  const [text, setText] = useState(against.value);
  useEffect(() => setText(against.value), [against.value, against.kind]);
  const pick = (kind: Against['kind']) => {
    const first = {
      previous: '',
      step: String(Math.max(0, (info?.step ?? 1) - 1)),
      rank: String(others[0]?.rank ?? 0),
      tensor: tensor.name,
    };
    onChange({ kind, value: first[kind] });
  };
  return (
    <>
      <select
        className="field compare-kind"
        aria-label="Compare with"
        value={against.kind}
        onChange={(event) => pick(event.target.value as Against['kind'])}
      >
        <option value="previous">the previous step</option>
        <option value="step">another step</option>
        <option value="rank" disabled={others.length === 0}>
          another rank
        </option>
        <option value="tensor">another tensor</option>
      </select>
      {against.kind === 'rank' && (
        <select
          className="field compare-rank"
          aria-label="Rank to compare with"
          value={against.value}
          onChange={(event) => onChange({ kind: 'rank', value: event.target.value })}
        >
          {others.map(({ rank }) => (
            <option key={rank} value={rank}>
              rank {rank}
            </option>
          ))}
        </select>
      )}
      {(against.kind === 'step' || against.kind === 'tensor') && (
        <input
          className={`field mono compare-${against.kind}`}
          aria-label={against.kind === 'step' ? 'Step to compare with' : 'Tensor to compare with'}
          placeholder={against.kind === 'step' ? 'step' : 'scope/node:slot'}
          spellCheck={false}
          value={text}
          aria-invalid={!isComplete({ ...against, value: text }) || undefined}
          onChange={(event) => setText(event.target.value)}
          onBlur={() => text !== against.value && onChange({ ...against, value: text.trim() })}
          onKeyDown={(event) => event.key === 'Enter' && onChange({ ...against, value: text.trim() })}
        />
      )}
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
  const verdict = blank
    ? `alike, but none of ${formatCount(comparison.count)} is finite`
    : comparison.all_close
      ? `all ${formatCount(comparison.count)} close`
      : `${formatCount(comparison.not_close_count)} of ${formatCount(comparison.count)} not close (${formatNumber(share * 100, 3)} %)`;
  const tone = blank ? '' : comparison.all_close ? 'compare-close' : 'compare-apart';
  const facts: Array<[string, string]> = [
    ['max |Δ|', formatNumber(comparison.max_abs_difference)],
    ['mean |Δ|', formatNumber(comparison.mean_abs_difference)],
    ['max relative', formatNumber(comparison.max_relative_difference)],
    ['cosine', formatNumber(comparison.cosine, 7)],
  ];
  return (
    <dl className="stats compare-figures" aria-label="Comparison">
      <div className={tone}>
        {comparison.all_close ? <CircleCheck aria-hidden size={14} /> : <CircleX aria-hidden size={14} />}
        <dt className="visually-hidden">allclose</dt>
        <dd>{verdict}</dd>
      </div>
      {facts.map(([label, text]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd className="mono">{text}</dd>
        </div>
      ))}
      {comparison.non_finite_count > 0 && (
        <div title="Pairs with a NaN or an infinity; they are not in the differences">
          <dt>not finite</dt>
          <dd className="mono">{formatCount(comparison.non_finite_count)}</dd>
        </div>
      )}
      {first !== null && (
        <div>
          <dt>first at</dt>
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

// Where in the slice a place is whose index is counted in the slice.
function cellOfIndex(index: readonly number[], shape: readonly number[]): number {
  return index.reduce((cell, at, axis) => cell * (shape[axis] ?? 1) + at, 0);
}

interface GridsProps {
  // The other one, and this one.
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
  if (grids === null) return <Notice title={`Values of type ${after.dtype} cannot be shown`} />;
  const [a, b, d] = grids as [GridData, GridData, GridData];
  const scale = Math.max(a.scale, b.scale);
  const parts = [
    { side: 'before', grid: a, title: titles[0], scale },
    { side: 'after', grid: b, title: titles[1], scale },
    { side: 'difference', grid: d, title: 'difference', scale: d.scale },
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
                <Suspense fallback={<Notice title="Loading" busy />}>
                  <HeatMap
                    grid={grid}
                    label={`Heat map: ${title}`}
                    summary={`${title}: ${grid.rows} by ${grid.columns} values`}
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
                  label={`Values: ${title}`}
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

function titleOf(query: ValueQuery, value: TensorSlice, tensor: TensorSummary, ranks: number): string {
  const parts = [`step ${value.step}`];
  if (ranks > 1) parts.unshift(`rank ${query.rank}`);
  if (query.name !== tensor.name) parts.unshift(query.name);
  return parts.join(', ');
}

interface Props {
  tensor: TensorSummary;
  query: ValueQuery;
}

export function TensorCompare({ tensor, query }: Props) {
  const { route } = useJobContext();
  const ranks = useJob((state) => state.model.info?.world_size ?? 1);
  const against = parseAgainst(route?.against ?? null);
  const complete = isComplete(against);
  const [tolerance, setTolerance] = useState<Tolerance>({ rtol: 1e-5, atol: 1e-8 });
  const [heat, setHeat] = useState(false);
  const [active, setActive] = useState(0);
  const other = otherQuery(query, against);
  const enabled = query.enabled && complete;
  const left = useSlice({ ...query, enabled });
  const right = useSlice({ ...other, enabled });
  const comparison = useComparison({ ...query, enabled }, formatAgainst(against), tolerance);
  const problem = comparison.error ?? right.error ?? left.error;
  const keeper = useKeeper('previous', tensor.node);
  const missing = against.kind === 'previous' && problem !== null && isGone(problem);
  // There still, and at the next step no more.
  const ends = against.kind === 'previous' && (keeper.state === 'off' || keeper.state === 'deleted');
  const body = () => {
    if (!complete) return <Notice title="Say what to compare with" />;
    if (missing) return null;
    if (problem !== null) return <Notice title="These cannot be compared">{describe(problem)}</Notice>;
    if (left.data === undefined || right.data === undefined) return <Notice title="Fetching both" busy />;
    if (left.data.shape.join() !== right.data.shape.join()) {
      return <Notice title="Their shapes differ" />;
    }
    const titles = [
      titleOf(other, right.data, tensor, ranks),
      titleOf(query, left.data, tensor, ranks),
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
          onChange={(next) => {
            touch();
            patchRoute({ against: next.kind === 'previous' ? null : formatAgainst(next) });
          }}
        />
        <ToleranceField name="rtol" value={tolerance.rtol} onChange={(rtol) => setTolerance({ ...tolerance, rtol })} />
        <ToleranceField name="atol" value={tolerance.atol} onChange={(atol) => setTolerance({ ...tolerance, atol })} />
        <label className="view-choice">
          <input type="checkbox" checked={heat} onChange={(event) => setHeat(event.target.checked)} />
          colours
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
      {body()}
    </div>
  );
}
