// Tells one stop from another, for what is asked of a job that stands: it changes also
// when a rank of it comes to stand later than the others.

import { useState } from 'react';
import { useJob } from '../state/job_store';

export function useStopVersion(): string {
  const stops = useJob(({ model }) => model.stops);
  const ranks = useJob(({ model: { info } }) =>
    info?.state === 'paused' ? info.ranks.map(({ state, step }) => `${state} ${step}`).join() : null,
  );
  // While the job runs, what was asked at the last stop stays.
  const [last, setLast] = useState('');
  if (ranks !== null && ranks !== last) setLast(ranks);
  return `${stops}:${ranks ?? last}`;
}
