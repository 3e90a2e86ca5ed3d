// Selects the graph to show, if a job has several.

import { formatCount } from '../base/format';
import { showGraph, useShownGraph } from '../state/graphs';
import { useGraphs } from '../state/queries';
import { touch } from '../state/ui';
import * as words from '../words/graph';
import { useJobContext } from './job_context';

export function GraphChooser() {
  const { id } = useJobContext();
  const graphs = useGraphs(id);
  const shown = useShownGraph(id);
  if (graphs.length <= 1) return null;
  return (
    <select
      className="field graph-chooser"
      aria-label={words.shownGraph}
      value={shown?.id ?? ''}
      onChange={(event) => {
        touch();
        showGraph(event.target.value);
      }}
    >
      {shown === undefined && <option value="">{words.unknownGraph}</option>}
      {graphs.map(({ id: graph, node_count }) => (
        <option key={graph} value={graph}>
          {words.graphOption(graph, formatCount(node_count))}
        </option>
      ))}
    </select>
  );
}
