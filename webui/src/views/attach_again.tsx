// Offers to debug a program again that goes on without graphdbg, in the banner of its job's end.

import { Plug } from 'lucide-react';
import { useState } from 'react';
import type { Job } from '../api/types';
import { attachTo, leftTraining, useTrainings } from '../state/trainings';
import { Button } from '../widgets/button';
import * as words from '../words/trainings';

// Nothing if the job's process has ended, or is debugged by another job.
export function AttachAgain({ job }: { job: Job }) {
  const { data, refetch } = useTrainings();
  const [pending, setPending] = useState(false);
  const training = data === undefined ? null : leftTraining(job, data.trainings, data.host);
  if (training === null) return null;
  const run = async () => {
    setPending(true);
    await attachTo(training);
    // It may have ended, or somebody else may have been faster.
    await refetch();
    setPending(false);
  };
  return (
    <>
      <span>{words.stillRuns}</span>
      <Button label={words.attachAgain} hint={words.attachHint} icon={Plug} small pending={pending} onClick={() => void run()} />
    </>
  );
}
