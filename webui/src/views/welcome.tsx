// One line of help at the bottom while nothing is selected. The user can hide it for good.

import { X } from 'lucide-react';
import { isRun } from '../base/run_id';
import { isOver } from '../state/job';
import { useJob } from '../state/job_store';
import { dismissWelcome, showOverlay, useUi } from '../state/ui';
import { Button } from '../widgets/button';
import { GuideLink } from '../widgets/guide_link';
import * as words from '../words/job';
import { firstSteps as firstStepsOfModel } from '../words/model';
import { firstSteps as firstStepsOfRun } from '../words/run';
import './welcome.css';

function useSteps(opened: boolean): Array<[string, string]> {
  return useJob(({ id, model }) => {
    if (opened) return firstStepsOfModel;
    if (isRun(id ?? '')) return firstStepsOfRun;
    return isOver(model.info) ? words.firstStepsAfterEnd : words.firstSteps;
  });
}

// `opened`: the job is an opened model.
export function Welcome({ opened }: { opened: boolean }) {
  const steps = useSteps(opened);
  const shown = useUi((state) => state.welcome);
  if (!shown) return null;
  return (
    <aside className="welcome" aria-label={words.gettingStarted}>
      <ol className="welcome-steps">
        {steps.map(([title, text]) => (
          <li key={title}>
            <strong>{title}</strong>: {text}
          </li>
        ))}
      </ol>
      <span className="grow" />
      <GuideLink page={opened ? 'models' : 'first-stop'} />
      <Button label={words.keyboardShortcuts} small tone="quiet" shortcut="?" onClick={() => showOverlay('keys')} />
      <Button label={words.doNotShowAgain} icon={X} iconOnly small tone="quiet" onClick={dismissWelcome} />
    </aside>
  );
}
