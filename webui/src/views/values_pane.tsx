// The views of one tensor: values, heat map, histogram, history and comparison.

import { lazy, Suspense, useState, type ReactElement } from 'react';
import { api } from '../api/client';
import { Problem } from '../api/problem';
import type { Statistics, TensorSummary } from '../api/types';
import { sentence } from '../base/format';
import { isRun } from '../base/run_id';
import { elementsIn, FIRST_ELEMENTS } from '../base/slice';
import { describe } from '../state/describe';
import { hasEnded, isOpenedModel, isPaused } from '../state/job';
import { sendCommand, useJob } from '../state/job_store';
import { useHistory, useSlice, useStatistics, type ValueQuery } from '../state/queries';
import { patchRoute } from '../state/router';
import { goToStep } from '../state/run_store';
import { nearestSaved } from '../state/timeline';
import { showToast } from '../state/toasts';
import { touch } from '../state/ui';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { Tabs } from '../widgets/tabs';
import { loading, tryAgain } from '../words/common';
import * as runWords from '../words/run';
import * as words from '../words/tensor';
import { useJobContext } from './job_context';
import { AxisPickers, SliceField } from './slice_field';
import { StatisticsLine } from './statistics_line';
import { TensorActions } from './tensor_actions';
import { panelInAddress, panelOf, panelsFor, type PanelName } from './tensor_panels';
import { useTensorRequest } from './tensor_request';
import { TensorValues } from './tensor_values';
import { useReasonAgainst } from './use_reason_against';
import './values_pane.css';

const TensorHistogram = lazy(async () => ({
  default: (await import('./tensor_histogram')).TensorHistogram,
}));
const TensorHistoryView = lazy(async () => ({
  default: (await import('./tensor_history')).TensorHistoryView,
}));
const ReducedMap = lazy(async () => ({
  default: (await import('./reduced_map')).ReducedMap,
}));
const TensorAdvice = lazy(async () => ({ default: (await import('./tensor_advice')).TensorAdvice }));
const RankTable = lazy(async () => ({ default: (await import('./rank_differences')).RankTable }));
const TensorCompare = lazy(async () => ({
  default: (await import('./tensor_compare')).TensorCompare,
}));

// Codes for values that are not available, as opposed to failures.
const UNAVAILABLE = new Set(['value_gone', 'not_recorded', 'slice_too_large', 'not_captured', 'not_allowed_by_job']);

// Panels that need no value of the current step.
const ALWAYS_SHOWN: ReadonlySet<PanelName> = new Set(['history', 'ranks', 'advice']);

interface ValueProblemProps {
  error: Error;
  retry: () => void;
  // Requests that the value be captured the next time the node runs.
  onCatch: () => Promise<unknown>;
}

const takeStep = () => void sendCommand('step', { steps: 1 });

export function ValueProblem({ error, retry, onCatch }: ValueProblemProps) {
  const [caught, setCaught] = useState(false);
  const forbidden = useReasonAgainst('control');
  const code = error instanceof Problem ? error.code : '';
  const arm = (then?: () => void) => {
    onCatch().then(
      () => {
        setCaught(true);
        then?.();
      },
      (reason: unknown) =>
        showToast({ kind: 'error', title: words.captureNotSet, detail: describe(reason) }),
    );
  };
  return (
    <Notice title={words.noValue} tone={UNAVAILABLE.has(code) ? 'plain' : 'error'}>
      <p>{caught ? words.willBeCaptured : sentence(describe(error))}</p>
      <span className="values-ways">
        {code === 'value_gone' && !caught && (
          <>
            <Button
              label={words.stepToCapture}
              small
              tone="primary"
              disabledReason={forbidden}
              onClick={() => arm(takeStep)}
            />
            <Button
              label={words.captureNext}
              small
              hint={words.captureNextHint}
              disabledReason={forbidden}
              onClick={() => arm()}
            />
          </>
        )}
        <Button label={tryAgain} small onClick={retry} />
      </span>
    </Notice>
  );
}

// Explains why no values can be loaded while the job is not paused.
function NotPaused() {
  const info = useJob((state) => state.model.info);
  if (info !== null && isOpenedModel(info)) {
    return <Notice title={words.noValues}>{words.modelNotRun}</Notice>;
  }
  if (hasEnded(info) || info?.state === 'lost') {
    return (
      <Notice title={words.noValues}>
        <p>{words.jobEnded}</p>
        <Button label={words.showHistory} small onClick={() => patchRoute({ panel: 'history' })} />
      </Notice>
    );
  }
  return <Notice title={words.jobRunning}>{words.valuesAfterPause}</Notice>;
}

function StepChoice({ step }: { step: string | null }) {
  return (
    <select
      className="field values-step"
      aria-label={words.stepOfValues}
      value={step ?? 'current'}
      onChange={(event) => {
        touch();
        patchRoute({ step: event.target.value === 'current' ? null : event.target.value });
      }}
    >
      <option value="current">{words.currentStep}</option>
      <option value="previous">{words.previousStep}</option>
      {step !== null && step !== 'previous' && <option value={step}>{words.step(step)}</option>}
    </select>
  );
}

// Names the nearest steps of a recorded run that have the values.
function NotRecorded({ error, tensor, query }: { error: Error; tensor: TensorSummary; query: ValueQuery }) {
  const history = useHistory(query.job, tensor.name, query.rank, query.version);
  const nearest = nearestSaved(history.data?.saved_steps ?? [], Number(query.step));
  return (
    <Notice title={runWords.notSaved} tone={error instanceof Problem && error.code === 'not_recorded' ? 'plain' : 'error'}>
      <p>{describe(error)}</p>
      <span className="values-ways">
        {nearest.map((step) => (
          <Button key={step} label={runWords.goToStep(step)} small onClick={() => goToStep(step)} />
        ))}
        <Button label={words.showHistory} small onClick={() => patchRoute({ panel: 'history' })} />
      </span>
    </Notice>
  );
}

interface AreaProps {
  tensor: TensorSummary;
  query: ValueQuery;
  value: ReturnType<typeof useSlice>;
  statistics: Statistics | null;
  heat: boolean;
}

function ValuesArea({ tensor, query, value, statistics, heat }: AreaProps) {
  const paused = useJob((state) => isPaused(state.model.info, query.rank));
  if (value.error !== null && !value.isPlaceholderData && isRun(query.job)) {
    return <NotRecorded error={value.error} tensor={tensor} query={query} />;
  }
  if (value.error !== null && !value.isPlaceholderData) {
    return (
      <ValueProblem
        key={query.version}
        error={value.error}
        retry={() => void value.refetch()}
        onCatch={() => api.catchTensors(query.job, tensor.node, query.rank)}
      />
    );
  }
  if (value.data !== undefined) {
    return (
      <TensorValues
        value={value.data}
        tensor={tensor}
        query={query}
        statistics={statistics}
        fetching={value.isFetching}
        heat={heat}
      />
    );
  }
  return paused ? <Notice title={words.loadingValues} busy /> : <NotPaused />;
}

// `failed`: the op has failed instead of computing this tensor.
export function ValuesPane({ tensor, failed = false }: { tensor: TensorSummary; failed?: boolean }) {
  const { route } = useJobContext();
  const ranks = useJob((state) => state.model.info?.ranks.length ?? 1);
  const panel = panelOf(route?.panel);
  const query = useTensorRequest(tensor);
  const wantsSlice = panel === 'values' || panel === 'heat';
  // The server reduces slices that are too large to be loaded for a picture.
  const reduced = panel === 'heat' && (elementsIn(query.slice, tensor.shape) ?? 0) > FIRST_ELEMENTS;
  const value = useSlice({ ...query, enabled: query.enabled && wantsSlice && !reduced });
  const measured = useStatistics(query);
  const now = useJob((state) => state.model.info?.step ?? 0);
  // Statistics that come without a request may be of an earlier step.
  const recorded = isRun(query.job);
  const known = query.step === null || recorded ? tensor.statistics : null;
  const statistics = measured.data?.statistics ?? known;
  const at = measured.data?.step ?? tensor.statistics_step;
  const old = (query.step === null || recorded) && at !== now ? at : null;
  const shown = value.data;
  const choose = (id: PanelName) => {
    touch();
    patchRoute({ panel: panelInAddress(id) });
  };
  const text = query.transposed ? `${query.slice}.T` : query.slice;
  const slice = { slice: text, shape: tensor.shape, dtype: tensor.dtype };
  const body = (): ReactElement => {
    if (failed && !ALWAYS_SHOWN.has(panel)) return <Notice title={words.failedOp}>{words.failedOpText}</Notice>;
    if (!query.enabled && !wantsSlice && !ALWAYS_SHOWN.has(panel)) return <NotPaused />;
    switch (panel) {
      case 'values':
      case 'heat':
        if (reduced && query.enabled) return <ReducedMap query={query} title={tensor.name} />;
        return <ValuesArea tensor={tensor} query={query} value={value} statistics={old === null ? statistics : null} heat={panel === 'heat'} />;
      case 'histogram':
        return <TensorHistogram query={query} statistics={statistics} old={old} />;
      case 'history':
        return <TensorHistoryView tensor={tensor} rank={query.rank} />;
      case 'compare':
        return <TensorCompare tensor={tensor} query={query} />;
      case 'ranks':
        return <RankTable tensor={tensor} />;
      case 'advice':
        return <TensorAdvice tensor={tensor} />;
    }
  };
  return (
    <section className="values" aria-label={words.values}>
      <div className="values-tabs">
        <Tabs tabs={panelsFor(ranks)} selected={panel} label={words.tensorViews} panel="tensor-view" onSelect={choose} />
        <span className="grow" />
        <TensorActions query={query} value={wantsSlice ? shown : undefined} />
      </div>
      {!ALWAYS_SHOWN.has(panel) && (
        <div className="values-controls">
          <div className="values-bar">
            <span className="mono ellipsis values-name" title={tensor.name}>
              {words.slotName(tensor.role, tensor.index)}
            </span>
            <SliceField {...slice} />
            {!recorded && <StepChoice step={query.step} />}
            {shown !== undefined && wantsSlice && (
              <span className="muted values-at">
                {words.step(shown.step)}
                {!query.enabled && !value.isFetching && words.fromLastPause}
              </span>
            )}
            {shown?.overwritten === true && (
              <span className="tag values-overwritten" title={words.overwrittenHint}>
                {words.overwritten}
              </span>
            )}
            {typeof shown?.grad_scale === 'number' && (
              <span className="tag" title={words.scaledHint}>
                {words.scaledBy(shown.grad_scale.toLocaleString('en'))}
              </span>
            )}
          </div>
          <AxisPickers {...slice} />
        </div>
      )}
      {wantsSlice && statistics !== null && <StatisticsLine statistics={statistics} old={old} />}
      <div className="values-body" role="tabpanel" id="tensor-view" aria-label={panel}>
        <Suspense fallback={<Notice title={loading} busy />}>{body()}</Suspense>
      </div>
    </section>
  );
}
