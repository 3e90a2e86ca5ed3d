// The inputs and outputs of a node with their statistics.

import { useQueries } from '@tanstack/react-query';
import { api } from '../api/client';
import type { NodeDetail, Statistics, TensorSummary } from '../api/types';
import { isRun } from '../base/run_id';
import { compactCount, formatCount, formatNumber, formatShape, shortDtype } from '../base/format';
import { describe } from '../state/describe';
import { isOpenedModel, isPaused } from '../state/job';
import { useJob } from '../state/job_store';
import { ofNoTensor, patchRoute } from '../state/router';
import { revealNode } from '../state/scopes';
import { touch } from '../state/ui';
import { FullName } from '../widgets/full_name';
import * as words from '../words/tensor';
import { useJobContext } from './job_context';
import { tensorKey } from './tensor_key';

// Statistics of further tensors are requested one by one, when they are selected.
const MAX_REQUESTED = 8;

interface DatedStatistics {
  statistics: Statistics;
  // That of the value; null if it is not known to differ from the graph's.
  shape: readonly number[] | null;
  // Their step if it is an earlier one, else null.
  old: number | null;
}

interface Props {
  node: NodeDetail;
  // The op has failed, so it has no output.
  failed: boolean;
  tensors: readonly TensorSummary[];
  selected: TensorSummary | null;
  error: Error | null;
}

// While the job is paused, requests the statistics that the agent has not computed yet.
function useAllStatistics(tensors: readonly TensorSummary[]): Map<string, DatedStatistics> {
  const { id, route } = useJobContext();
  const stops = useJob((state) => state.model.stops);
  const step = useJob((state) => state.model.info?.step ?? 0);
  const opened = useJob(({ model }) => model.info !== null && isOpenedModel(model.info));
  const rank = route?.rank ?? 0;
  const paused = useJob((state) => isPaused(state.model.info, rank));
  const requested = tensors.slice(0, MAX_REQUESTED).map((tensor) => tensor.name);
  const answers = useQueries({
    queries: [...new Set(requested)].map((name) => ({
      queryKey: ['statistics', id, name, rank, null, `${stops}`],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        api.statistics(id, { name, rank, step: null }, signal),
      // The list of a recorded run's tensors has all statistics.
      enabled: paused && (step > 0 || opened) && !isRun(id),
    })),
  });
  const found = new Map<string, DatedStatistics>();
  const add = (name: string, statistics: Statistics, at: number | null, shape: readonly number[] | null) =>
    found.set(name, { statistics, shape, old: at === step ? null : at });
  for (const { name, statistics, statistics_step } of tensors) {
    if (statistics !== null) add(name, statistics, statistics_step, null);
  }
  for (const { data } of answers) if (data !== undefined) add(data.name, data.statistics, data.step, data.shape);
  return found;
}

function Count({ count, kind, label }: { count: number; kind: 'nan' | 'inf' | 'neg-inf'; label: string }) {
  if (count === 0) return null;
  return (
    <span className={`special special-${kind}`}>
      {label} {compactCount(count)}
    </span>
  );
}

function Specials({ statistics }: { statistics: Statistics }) {
  const { nan_count, pos_inf_count, neg_inf_count } = statistics;
  if (nan_count + pos_inf_count + neg_inf_count === 0) return null;
  return (
    <span className="specials">
      <Count count={nan_count} kind="nan" label={words.specialMarks.nan} />
      <Count count={pos_inf_count} kind="inf" label={words.specialMarks.inf} />
      <Count count={neg_inf_count} kind="neg-inf" label={words.specialMarks.neg_inf} />
    </span>
  );
}

function StatisticsCells({ known, failed }: { known: DatedStatistics | undefined; failed: boolean }) {
  if (failed || known === undefined) {
    return (
      <td className="number muted" colSpan={2}>
        {failed ? words.failedOp : '–'}
      </td>
    );
  }
  const { statistics, old } = known;
  const range = statistics.min === null ? '–' : `${formatNumber(statistics.min, 4)} … ${formatNumber(statistics.max, 4)}`;
  return (
    <>
      <td className={old === null ? 'number' : 'number tensor-old'}>
        {old !== null && <span className="tensor-when">{words.atStep(formatCount(old))}</span>}
        <span className="mono tensor-range">{range}</span>
        <Specials statistics={statistics} />
      </td>
      <td className={old === null ? 'number mono' : 'number mono tensor-old'}>{formatNumber(statistics.mean, 4)}</td>
    </>
  );
}

// The names of outputs differ only at the end, so long ones are cut before the slot.
function outputName(label: string, slot: number): string {
  return label.length <= 14 ? `${label}:${slot}` : `${label.slice(0, 12)}…:${slot}`;
}

export function TensorTable({ node, failed, tensors, selected, error }: Props) {
  const statistics = useAllStatistics(tensors);
  const choose = (tensor: TensorSummary) => {
    touch();
    patchRoute({ ...ofNoTensor(), slot: tensorKey(tensor) });
  };
  const rows = (role: TensorSummary['role'], title: string) => {
    const list = tensors.filter((tensor) => tensor.role === role);
    if (list.length === 0) return null;
    return (
      <tbody aria-label={title}>
        <tr className="tensor-group">
          <td colSpan={5}>
            {title} <span className="muted">{list.length}</span>
          </td>
        </tr>
        {list.map((tensor) => (
          <tr
            key={tensorKey(tensor)}
            className="tensor-row"
            aria-selected={tensor === selected}
            onClick={() => choose(tensor)}
          >
            <td className="muted mono">{tensor.index}</td>
            <td className="tensor-name">
              <button
                type="button"
                className="link"
                title={words.showValues(tensor.name)}
                onClick={() => choose(tensor)}
                onDoubleClick={() => revealNode(tensor.node)}
              >
                {role === 'input' ? <FullName name={tensor.name} /> : <span className="mono">{outputName(node.label, tensor.slot)}</span>}
              </button>
            </td>
            <td className="mono">
              {formatShape(statistics.get(tensor.name)?.shape ?? tensor.shape)} <span className="muted">{shortDtype(tensor.dtype)}</span>
            </td>
            <StatisticsCells known={statistics.get(tensor.name)} failed={failed && role === 'output'} />
          </tr>
        ))}
      </tbody>
    );
  };
  return (
    <div className="tensors" role="region" aria-label={words.tensors} tabIndex={0}>
      {error !== null && <p className="pane-error">{describe(error)}</p>}
      <table>
        <thead>
          <tr>
            <th>{words.tensorColumns.index}</th>
            <th>{words.tensorColumns.tensor}</th>
            <th>{words.tensorColumns.shape}</th>
            <th className="number">{words.tensorColumns.range}</th>
            <th className="number">{words.tensorColumns.mean}</th>
          </tr>
        </thead>
        {rows('output', words.outputs)}
        {rows('input', words.inputs)}
      </table>
    </div>
  );
}
