// What users have changed in the program of a recorded run while it was paused: a line for each
// change, which links to its step and node.

import type { UserChange } from '../api/types';
import { goToStep, useRun } from '../state/run_store';
import { revealNode } from '../state/scopes';
import { touch } from '../state/ui';
import * as words from '../words/run';
import './last_ops.css';

function Line({ change }: { change: UserChange }) {
  const { rank, step, node, text, by, time } = change;
  const go = () => {
    touch();
    goToStep(step);
    if (node !== null) revealNode(node);
  };
  return (
    <li className="last-op">
      <span className="muted">{words.lastOpRank(rank)}</span>
      <button type="button" className="link" onClick={go}>
        {words.changedInStep(step)}
      </button>
      <span className="ellipsis" title={text}>
        {text}
      </span>
      <span className="muted">{words.changedBy(by ?? '', new Date(time))}</span>
    </li>
  );
}

// Nothing if no user has changed anything.
export function UserChanges() {
  const run = useRun((state) => state.run);
  if (run === null || run.user_changes.length === 0) return null;
  return (
    <ul className="last-ops" aria-label={words.userChanges}>
      {run.user_changes.map((change) => (
        <Line key={`${change.rank} ${change.time} ${change.text}`} change={change} />
      ))}
    </ul>
  );
}
