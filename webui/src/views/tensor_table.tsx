// Inputs and outputs of a node with what is known of each.

import { useQueries } from '@tanstack/react-query';
import { api } from '../api/client';
import { describe } from '../api/problem';
import type { NodeDetail, Statistics, TensorSummary } from '../api/types';
import { compactCount, formatNumber, formatShape, shortDtype } from '../base/format';
import { useJob } from '../state/job_store';
import { patchRoute } from '../state/router';
import { revealNode } from '../state/scopes';
import { touch } from '../state/ui';
import { FullName } from '../widgets/full_name';
import { useJobContext } from './job_context';
import { tensorKey } from './tensor_key';

// More are asked for one by one, when they are selected.
const MOST_ASKED = 8;

interface Props {
  node: NodeDetail;
  tensors: readonly TensorSummary[];
  selected: TensorSummary | null;
  error: Error | null;
}

// While the job is stopped, what the agent has not measured yet is asked for.
function useAllStatistics(tensors: readonly TensorSummary[]): Map<string, Statistics> {
  const { id, route } = useJobContext();
  const stops = useJob((state) => state.model.stops);
  const paused = useJob((state) => state.model.info?.state === 'paused');
  const step = useJob((state) => state.model.info?.step ?? 0);
  const rank = route?.rank ?? 0;
  const asked = tensors.slice(0, MOST_ASKED).map((tensor) => tensor.name);
  const answers = useQueries({
    queries: [...new Set(asked)].map((name) => ({
      queryKey: ['statistics', id, name, rank, null, `${stops}`],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        api.statistics(id, { name, rank, step: null }, signal),
      enabled: paused && step > 0,
    })),
  });
  const found = new Map<string, Statistics>();
  for (const tensor of tensors) {
    if (tensor.statistics !== null) found.set(tensor.name, tensor.statistics);
  }
  for (const { data } of answers) if (data !== undefined) found.set(data.name, data.statistics);
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

function StatisticsCells({ statistics }: { statistics: Statistics | undefined }) {
  if (statistics === undefined) {
    return (
      <td className="number muted" colSpan={4}>
        –
      </td>
    );
  }
  return (
    <>
      <td>
        <span className="specials">
          <Count count={statistics.nan_count} kind="nan" label="✕ NaN" />
          <Count count={statistics.pos_inf_count} kind="inf" label="▲ +Inf" />
          <Count count={statistics.neg_inf_count} kind="neg-inf" label="▼ -Inf" />
        </span>
      </td>
      <td className="number mono">{formatNumber(statistics.min, 4)}</td>
      <td className="number mono">{formatNumber(statistics.max, 4)}</td>
      <td className="number mono">{formatNumber(statistics.mean, 4)}</td>
    </>
  );
}

export function TensorTable({ node, tensors, selected, error }: Props) {
  const statistics = useAllStatistics(tensors);
  const choose = (tensor: TensorSummary) => {
    touch();
    patchRoute({ slot: tensorKey(tensor), slice: null, step: null });
  };
  const rows = (role: TensorSummary['role'], title: string) => {
    const list = tensors.filter((tensor) => tensor.role === role);
    if (list.length === 0) return null;
    return (
      <tbody aria-label={title}>
        <tr className="tensor-group">
          <td colSpan={7}>
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
                title={`${tensor.name}: show its values`}
                onClick={() => choose(tensor)}
                onDoubleClick={() => revealNode(tensor.node)}
              >
                <FullName name={role === 'input' ? tensor.name : `${node.label}:${tensor.slot}`} />
              </button>
            </td>
            <td className="mono">
              {formatShape(tensor.shape)} <span className="muted">{shortDtype(tensor.dtype)}</span>
            </td>
            <StatisticsCells statistics={statistics.get(tensor.name)} />
          </tr>
        ))}
      </tbody>
    );
  };
  return (
    <div className="tensors" role="region" aria-label="Tensors" tabIndex={0}>
      {error !== null && <p className="pane-error">{describe(error)}</p>}
      <table>
        <thead>
          <tr>
            <th>#</th>
            <th>Tensor</th>
            <th>Shape</th>
            <th>Not finite</th>
            <th className="number">Min</th>
            <th className="number">Max</th>
            <th className="number">Mean</th>
          </tr>
        </thead>
        {rows('output', 'Outputs')}
        {rows('input', 'Inputs')}
      </table>
    </div>
  );
}
