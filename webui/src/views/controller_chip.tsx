// The user who controls the job, if that is another user, with a button to take over the control.

import { useState } from 'react';
import type { Job } from '../api/types';
import { useAuth } from '../state/auth';
import { controllerOf } from '../state/journal';
import { takeOver } from '../state/lease';
import { Button } from '../widgets/button';
import { Tooltip } from '../widgets/tooltip';
import * as words from '../words/access';
import { useReasonAgainst } from './use_reason_against';
import './controller_chip.css';

export function ControllerChip({ job }: { job: Job }) {
  const own = useAuth(({ session }) => session?.name ?? null);
  const forbidden = useReasonAgainst('control');
  const [busy, setBusy] = useState(false);
  const name = controllerOf(job);
  if (name === null || name === own) return null;
  const take = async () => {
    setBusy(true);
    await takeOver(job.id);
    setBusy(false);
  };
  return (
    <span className="controller" role="group" aria-label={words.controlledBy(name)}>
      <Tooltip text={words.controlledByHint(name)}>
        <span className="controller-name" tabIndex={0}>
          {words.controlledBy(name)}
        </span>
      </Tooltip>
      <Button
        label={words.takeOver}
        hint={words.takeOverHint(name)}
        small
        pending={busy}
        disabledReason={forbidden}
        onClick={() => void take()}
      />
    </span>
  );
}
