// One line below while nothing is selected: how to begin. It can be put away for good.

import { X } from 'lucide-react';
import { hasEnded } from '../state/job';
import { useJob } from '../state/job_store';
import { dismissWelcome, showOverlay, useUi } from '../state/ui';
import { Button } from '../widgets/button';
import './welcome.css';

const STEPS: Array<[string, string]> = [
  ['Watch', 'set a condition on the outputs of nodes'],
  ['Continue', 'the job stops where it is met'],
  ['Look', 'select a node, in the tree or on the graph'],
];

const LEFT: Array<[string, string]> = [
  ['The job has ended', 'its graph stays'],
  ['Look', 'select a node or a hit for its history and source'],
];

export function Welcome() {
  const ended = useJob(({ model }) => hasEnded(model.info));
  const shown = useUi((state) => state.welcome);
  if (!shown) return null;
  return (
    <aside className="welcome" aria-label="Getting started">
      <ol className="welcome-steps">
        {(ended ? LEFT : STEPS).map(([title, text]) => (
          <li key={title}>
            <strong>{title}</strong>: {text}
          </li>
        ))}
      </ol>
      <span className="grow" />
      <Button label="All keys" small tone="quiet" shortcut="?" onClick={() => showOverlay('keys')} />
      <Button label="Do not show this again" icon={X} iconOnly small tone="quiet" onClick={dismissWelcome} />
    </aside>
  );
}
