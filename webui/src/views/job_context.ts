// What all parts of a job's view share.

import { createContext, useContext } from 'react';
import type { Trail } from '../graph/marks';
import type { JobRoute } from '../state/route';

export interface JobContextValue {
  id: string;
  route: JobRoute | null;
  open: ReadonlySet<string>;
  // Hits by node and by the scopes around it.
  hitIndex: ReadonlyMap<string, number>;
  // Where values that are not finite came up and went, likewise.
  trail: ReadonlyMap<string, Trail>;
  // Where the job stands.
  current: string | null;
}

export const JobContext = createContext<JobContextValue>({
  id: '',
  route: null,
  open: new Set(),
  hitIndex: new Map(),
  trail: new Map(),
  current: null,
});

export function useJobContext(): JobContextValue {
  return useContext(JobContext);
}
