// Run control in a row of the list of jobs: continue or pause, terminate, remove.

import { Pause, Play, Square, Trash2 } from 'lucide-react';
import type { ControlCommand, Job } from '../api/types';
import { useAuth } from '../state/auth';
import { availability } from '../state/controls';
import { isOver } from '../state/job';
import { controlJob, useJobs } from '../state/jobs_store';
import { reasonAgainst } from '../state/permissions';
import { Button } from '../widgets/button';
import { commandNames } from '../words/control';
import * as words from '../words/job';

interface Props {
  job: Job;
  // These ask first.
  onTerminate: () => void;
  onRemove: () => void;
}

export function JobRowControls({ job, onTerminate, onRemove }: Props) {
  const session = useAuth((state) => state.session);
  const live = useJobs((state) => state.connection === 'live');
  const reason = (command: ControlCommand) => availability(command, job, live, null, session).reason;
  const run = job.state === 'paused' ? ('continue' as const) : ('pause' as const);
  const icons = { continue: Play, pause: Pause };
  return (
    <span className="jobs-controls">
      {!isOver(job) && (
        <>
          <Button
            label={words.commandOn(commandNames[run], job.name)}
            icon={icons[run]}
            iconOnly
            small
            tone="quiet"
            disabledReason={reason(run)}
            onClick={() => void controlJob(job, run)}
          />
          <Button
            label={words.commandOn(commandNames.terminate, job.name)}
            icon={Square}
            iconOnly
            small
            tone="quiet"
            disabledReason={reason('terminate')}
            onClick={onTerminate}
          />
        </>
      )}
      {isOver(job) && (
        <Button
          label={words.removeJob(job.name)}
          icon={Trash2}
          iconOnly
          small
          tone="quiet"
          disabledReason={reasonAgainst('delete', session, job)}
          onClick={onRemove}
        />
      )}
    </span>
  );
}
