// The last ops of the ranks of a recorded run that died or are still running: a line for each op,
// which links to its node.

import type { LastOp } from '../api/types';
import { fileName } from '../base/names';
import { useRun } from '../state/run_store';
import { revealNode } from '../state/scopes';
import * as words from '../words/run';
import './last_ops.css';

function Line({ op }: { op: LastOp }) {
  const { node, source } = op;
  return (
    <li className={op.unfinished ? 'last-op unfinished' : 'last-op'}>
      <span className="muted">{words.lastOpRank(op.rank)}</span>
      <span>{op.unfinished ? words.lastOpIn : words.lastOpAfter}</span>
      {node === null ? (
        <span className="muted">{words.unknownOp}</span>
      ) : (
        <button type="button" className="link mono" onClick={() => revealNode(node)}>
          {node}
        </button>
      )}
      {source !== null && (
        <span className="muted mono ellipsis" title={`${source.file}:${source.line}`}>
          {fileName(source.file)}:{source.line} {source.text}
        </span>
      )}
      <span className="muted">{words.lastOpPlace(op.step, op.exec_order, new Date(op.began_at))}</span>
    </li>
  );
}

// Nothing if all ranks ended properly.
export function LastOps() {
  const run = useRun((state) => state.run);
  if (run === null || run.last_ops.length === 0) return null;
  return (
    <ul className="last-ops" aria-label={run.ended === null ? words.opsInProgress : words.lastOps}>
      {run.last_ops.map((op) => (
        <Line key={`${op.rank} ${op.thread}`} op={op} />
      ))}
    </ul>
  );
}
