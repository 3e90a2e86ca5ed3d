// What stands below while nothing is selected: how to begin, and the keys.

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

export function Welcome() {
  return (
    <div className="welcome">
      <section>
        <h2>Getting started</h2>
        <ol className="welcome-steps">
          {STEPS.map(([title, text], i) => (
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
