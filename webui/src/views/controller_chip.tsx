// Who controls the job, with a button to take the control over or to give it back.

import { useState } from 'react';
import type { Job } from '../api/types';
import { useAuth } from '../state/auth';
import { giveBack, takeOver } from '../state/lease';
import { Button } from '../widgets/button';
import { Tooltip } from '../widgets/tooltip';
import * as words from '../words/access';
import { useReasonAgainst } from './use_reason_against';
import './controller_chip.css';

export function ControllerChip({ job }: { job: Job }) {
  const own = useAuth(({ session }) => session?.name ?? null);
  const forbidden = useReasonAgainst('control');
  const [busy, setBusy] = useState(false);
  const { controller } = job;
  if (controller === null || controller === undefined) return null;
  const { name } = controller;
  const mine = name === own;
  const change = async (request: (id: string) => Promise<boolean>) => {
    setBusy(true);
    await request(job.id);
    setBusy(false);
  };
  return (
    <span className="controller" role="group" aria-label={mine ? words.controlledByYou : words.controlledBy(name)}>
      <Tooltip text={mine ? words.controlledByYouHint : words.controlledByHint(name)}>
        <span className={mine ? 'controller-name muted' : 'controller-name'}>
          {mine ? words.controlledByYou : words.controlledBy(name)}
        </span>
      </Tooltip>
      <Button
        label={mine ? words.giveBack : words.takeOver}
        hint={mine ? words.giveBackHint : words.takeOverHint(name)}
        small
        tone={mine ? 'quiet' : 'plain'}
        pending={busy}
        disabledReason={forbidden}
        onClick={() => void change(mine ? giveBack : takeOver)}
      />
    </span>
  );
}
