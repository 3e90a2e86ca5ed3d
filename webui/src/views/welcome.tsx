// What stands below while nothing is selected: how to begin, and the keys.

import { hasEnded } from '../state/job';
import { useJob } from '../state/job_store';
import { KEY_GROUPS } from '../state/keys';
import { KeyList } from '../widgets/key_list';
import './welcome.css';

const STEPS: Array<[string, string]> = [
  ['Watch', 'Add a watchpoint: a condition on the outputs of some nodes, or of all.'],
  ['Run', 'Continue. The job stops at the first node whose output meets the condition.'],
  ['Look', 'Select a node on the graph or in the tree: tensors, values and source appear here.'],
];

// Those that one needs first.
const KEYS = KEY_GROUPS.slice(0, 3).flatMap(({ keys }) => keys);

const LEFT: Array<[string, string]> = [
  ['Graph', 'It stays, with the hits on it and what it said last.'],
  ['Look', 'Select a node on the graph or in the tree, or a hit: its history and source appear here.'],
];

export function Welcome() {
  const ended = useJob(({ model }) => hasEnded(model.info));
  const steps = ended ? LEFT : STEPS;
  return (
    <div className="welcome">
      <section>
        <h2>{ended ? 'The job has ended' : 'Getting started'}</h2>
        <ol className="welcome-steps">
          {steps.map(([title, text], i) => (
            <li key={title}>
              <span className="welcome-number mono">{i + 1}</span>
              <span>
                <strong>{title}.</strong> {text}
              </span>
            </li>
          ))}
        </ol>
      </section>
      <section>
        <h2>Keys</h2>
        <KeyList keys={KEYS} className="welcome-keys" />
      </section>
    </div>
  );
}
