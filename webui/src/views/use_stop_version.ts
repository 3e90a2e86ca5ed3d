// Identifies a pause of the rank that is shown, for requests whose answers are valid during one pause.
// It also changes when another rank pauses later.

import { useState } from 'react';
import type { Job } from '../api/types';
import { isPaused } from '../state/job';
import { useJob } from '../state/job_store';
import { useSelectedRank } from '../state/router';

function versionOf(info: Job | null, shown: number): string | null {
  if (info === null || !isPaused(info, shown)) return null;
  const node = info.state === 'paused' ? '' : (info.ranks.find(({ rank }) => rank === shown)?.node ?? '');
  return `${info.ranks.map(({ state, step }) => `${state} ${step}`).join()}${node}`;
}

export function useStopVersion(): string {
  const shown = useSelectedRank();
  const stops = useJob(({ model }) => model.stops);
  const now = useJob(({ model }) => versionOf(model.info, shown));
  // While it runs, the version of its last pause remains.
  const [last, setLast] = useState('');
  if (now !== null && now !== last) setLast(now);
  return `${stops}:${now ?? last}`;
}
