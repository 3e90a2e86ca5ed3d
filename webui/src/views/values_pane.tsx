// Values of one tensor: a slice typed as in NumPy, statistics, and the grid.

import { ArrowDown } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import { api } from '../api/client';
import { describe, Problem } from '../api/problem';
import type { Statistics, Tensor, TensorSummary } from '../api/types';
import { formatCount, formatNumber, formatShape, plural } from '../base/format';
import { defaultSlice, parseSlice } from '../base/slice';
import { beginMeasure, endMeasure } from '../base/timing';
import { hasEnded } from '../state/job';
import { useJob } from '../state/job_store';
import { useTensor } from '../state/queries';
import { patchRoute } from '../state/router';
import { showToast } from '../state/toasts';
import { touch } from '../state/ui';
import { Button } from '../widgets/button';
import { gridOf, indexOfCell, nextSpecial } from '../widgets/grid_data';
import { Notice } from '../widgets/notice';
import { Spinner } from '../widgets/spinner';
import { ValueGrid } from '../widgets/value_grid';
import { useJobContext } from './job_context';

// What the server sends as JSON at most.
const MOST_ELEMENTS = 100_000;

function SliceField({ slice, shape }: { slice: string; shape: readonly number[] }) {
  const [text, setText] = useState(slice);
  useEffect(() => setText(slice), [slice]);
  const parsed = parseSlice(text, shape);
  const tooMany = parsed.ok && parsed.count > MOST_ELEMENTS;
  const problem = parsed.ok
    ? tooMany
      ? `${formatCount(parsed.count)} elements; at most ${formatCount(MOST_ELEMENTS)} can be shown at once`
      : null
    : parsed.error;
  const apply = () => {
    if (problem !== null || text === slice) return;
    touch();
    beginMeasure('graphdbg:slice');
    patchRoute({ slice: text });
  };
  return (
    <span className="slice">
      <input
        className="field mono"
        aria-label="Slice"
        spellCheck={false}
        autoComplete="off"
        value={text}
        aria-invalid={problem !== null || undefined}
        aria-describedby="slice-problem"
        title="NumPy indexing, as [0, :, 10:20, ...]; Enter applies it"
        onChange={(event) => setText(event.target.value)}
        onBlur={apply}
        onKeyDown={(event) => {
          if (event.key === 'Enter') apply();
          if (event.key === 'Escape') setText(slice);
        }}
      />
      <span id="slice-problem" className="slice-problem" role="alert">
        {problem}
      </span>
    </span>
  );
}

const SHOWN: Array<[keyof Statistics, string]> = [
  ['min', 'min'],
  ['max', 'max'],
  ['mean', 'mean'],
  ['abs_max', 'abs max'],
  ['l2', 'L2'],
];

function StatisticsLine({ statistics }: { statistics: Statistics }) {
  const special: Array<[number, string, string]> = [
    [statistics.nan_count, 'nan', '✕ NaN'],
    [statistics.pos_inf_count, 'inf', '▲ +Inf'],
    [statistics.neg_inf_count, 'inf', '▼ -Inf'],
  ];
  return (
    <dl className="stats" aria-label="Statistics">
      <div>
        <dt>count</dt>
        <dd className="mono">{formatCount(statistics.count)}</dd>
      </div>
      {special
        .filter(([count]) => count > 0)
        .map(([count, kind, label]) => (
          <div key={label} className={`special special-${kind}`}>
            <dt>{label}</dt>
            <dd className="mono">{formatCount(count)}</dd>
          </div>
        ))}
      {SHOWN.map(([key, label]) => (
        <div key={key}>
          <dt>{label}</dt>
          <dd className="mono">{formatNumber(statistics[key])}</dd>
        </div>
      ))}
      <div>
        <dt>std</dt>
        <dd className="mono">
          {formatNumber(
            typeof statistics.variance === 'number' ? Math.sqrt(Math.max(0, statistics.variance)) : null,
          )}
        </dd>
      </div>
      <div>
        <dt>zeros</dt>
        <dd className="mono">{formatCount(statistics.zero_count)}</dd>
      </div>
    </dl>
  );
}

function Values({ value, fetching }: { value: Tensor; fetching: boolean }) {
  const parsed = useMemo(() => parseSlice(value.slice, value.shape), [value.slice, value.shape]);
  const grid = useMemo(() => gridOf(value.data, value.slice_shape), [value]);
  const [active, setActive] = useState(0);
  const axes = parsed.ok ? parsed.axes : [];
  const at = Math.min(active, Math.max(0, grid.values.length - 1));
  useEffect(() => endMeasure('graphdbg:slice'), [value]);
  if (grid.values.length === 0) {
    return <Notice title="The slice is empty">Its shape is {formatShape(value.slice_shape)}.</Notice>;
  }
  const special = grid.special.nan + grid.special.inf + grid.special.neg_inf;
  return (
    <>
      <div className="values-grid">
        <ValueGrid
          grid={grid}
          axes={axes}
          label={`Values of ${value.name}`}
          active={at}
          onActive={setActive}
        />
      </div>
      <footer className="values-foot">
        <span className="mono ellipsis" aria-live="polite">
          {indexOfCell(axes, at)} = {String(grid.values[at])}
        </span>
        <span className="grow" />
        {fetching && <Spinner />}
        {special > 0 && (
          <Button
            label={`Next of ${plural(special, 'not finite value', 'not finite values')}`}
            icon={ArrowDown}
            small
            tone="quiet"
            onClick={() => setActive(nextSpecial(grid, at))}
          />
        )}
      </footer>
    </>
  );
}

// These say that there is nothing to see, not that something went wrong.
const ORDINARY = new Set(['value_gone', 'slice_too_large']);

interface ValueProblemProps {
  error: Error;
  retry: () => void;
  // Has the value kept when the node executes next.
  onCatch: () => Promise<unknown>;
}

function ValueProblem({ error, retry, onCatch }: ValueProblemProps) {
  const [caught, setCaught] = useState(false);
  const code = error instanceof Problem ? error.code : '';
  const arm = () => {
    onCatch().then(
      () => setCaught(true),
      (reason: unknown) =>
        showToast({ kind: 'error', title: 'Catch was refused', detail: describe(reason) }),
    );
  };
  return (
    <Notice title="No value to show" tone={ORDINARY.has(code) ? 'plain' : 'error'}>
      <p>{caught ? 'It will be kept when the node executes next: step or continue.' : describe(error)}</p>
      {code === 'value_gone' && !caught && (
        <Button label="Catch" small hint="Keep it when the node executes next" onClick={arm} />
      )}
      <Button label="Try again" small onClick={retry} />
    </Notice>
  );
}

export function ValuesPane({ tensor }: { tensor: TensorSummary }) {
  const { id, route } = useJobContext();
  const info = useJob((state) => state.model.info);
  const stops = useJob((state) => state.model.stops);
  const slice = route?.slice ?? defaultSlice(tensor.shape);
  const paused = info?.state === 'paused';
  const value = useTensor({
    job: id,
    name: tensor.name,
    rank: route?.rank ?? 0,
    step: route?.step ?? null,
    slice,
    version: String(stops),
    enabled: paused,
  });
  const shown = value.isPlaceholderData ? undefined : value.data?.statistics;
  // What is known without asking is of the current step.
  const statistics = shown ?? (route?.step ? null : tensor.statistics);
  const content = () => {
    if (value.error !== null && !value.isPlaceholderData) {
      return (
        <ValueProblem
          key={stops}
          error={value.error}
          retry={() => void value.refetch()}
          onCatch={() => api.catchTensors(id, tensor.node, route?.rank ?? 0)}
        />
      );
    }
    if (value.data !== undefined) {
      return <Values value={value.data} fetching={value.isFetching} />;
    }
    if (paused) return <Notice title="Fetching values" busy />;
    if (hasEnded(info) || info?.state === 'lost') {
      return <Notice title="No values">The job has ended; its tensors are gone.</Notice>;
    }
    return <Notice title="The job is running">Values are fetched when it stops.</Notice>;
  };
  return (
    <section className="values" aria-label="Values">
      <div className="values-bar">
        <span className="mono ellipsis values-name" title={tensor.name}>
          {tensor.role === 'input' ? `input ${tensor.index}` : `output ${tensor.index}`}
        </span>
        <SliceField slice={slice} shape={tensor.shape} />
        <select
          className="field values-step"
          aria-label="Step of the values"
          value={route?.step ?? 'current'}
          onChange={(event) => {
            touch();
            patchRoute({ step: event.target.value === 'current' ? null : event.target.value });
          }}
        >
          <option value="current">current step</option>
          <option value="previous">previous step</option>
          {route?.step && route.step !== 'previous' && (
            <option value={route.step}>step {route.step}</option>
          )}
        </select>
        {value.data !== undefined && (
          <span className="muted values-at">
            step {value.data.step}
            {!paused && !value.isFetching && ', as it was'}
          </span>
        )}
        {value.data?.overwritten === true && (
          <span className="tag values-overwritten" title="An op wrote into this memory since">
            overwritten in place
          </span>
        )}
        {typeof value.data?.grad_scale === 'number' && (
          <span
            className="tag"
            title="The loss was multiplied with it, and so are these values; statistics are those of the true gradients"
          >
            scaled by {value.data.grad_scale.toLocaleString('en')}
          </span>
        )}
      </div>
      {statistics !== null && statistics !== undefined && <StatisticsLine statistics={statistics} />}
      <div className="values-body">{content()}</div>
    </section>
  );
}
