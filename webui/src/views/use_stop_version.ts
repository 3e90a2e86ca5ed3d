// Identifies a pause of the job, for requests whose answers are valid during one pause. It
// also changes when a rank pauses later than the others.

import { useState } from 'react';
import { useJob } from '../state/job_store';

export function useStopVersion(): string {
  const stops = useJob(({ model }) => model.stops);
  const ranks = useJob(({ model: { info } }) =>
    info?.state === 'paused' ? info.ranks.map(({ state, step }) => `${state} ${step}`).join() : null,
  );
  // While the job runs, the version of the last pause remains.
  const [last, setLast] = useState('');
  if (ranks !== null && ranks !== last) setLast(ranks);
  return `${stops}:${ranks ?? last}`;
}
