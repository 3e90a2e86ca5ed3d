// What all parts of a job's view share.

import { createContext, useContext } from 'react';
import type { JobRoute } from '../state/route';

export interface JobContextValue {
  id: string;
  route: JobRoute | null;
  open: ReadonlySet<string>;
  // Hits by node and by the scopes around it.
  hitIndex: ReadonlyMap<string, number>;
  // Where the job stands.
  current: string | null;
}

export const JobContext = createContext<JobContextValue>({
  id: '',
  route: null,
  open: new Set(),
  hitIndex: new Map(),
  current: null,
});

export function useJobContext(): JobContextValue {
  return useContext(JobContext);
}
