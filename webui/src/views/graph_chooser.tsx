// Which of several graphs is shown; nothing where a job has one.

import { formatCount } from '../base/format';
import { showGraph, useShownGraph } from '../state/graphs';
import { useGraphs } from '../state/queries';
import { touch } from '../state/ui';
import { useJobContext } from './job_context';

export function GraphChooser() {
  const { id } = useJobContext();
  const graphs = useGraphs(id);
  const shown = useShownGraph(id);
  if (graphs.length <= 1) return null;
  return (
    <select
      className="field graph-chooser"
      aria-label="Graph shown"
      value={shown?.id ?? ''}
      onChange={(event) => {
        touch();
        showGraph(event.target.value);
      }}
    >
      {shown === undefined && <option value="">unknown</option>}
      {graphs.map(({ id: graph, node_count }) => (
        <option key={graph} value={graph}>
          {graph} · {formatCount(node_count)} nodes
        </option>
      ))}
    </select>
  );
}
