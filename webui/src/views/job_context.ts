// What all parts of a job's view share.

import { createContext, useContext } from 'react';
import type { Trail } from '../graph/marks';
import type { JobRoute } from '../state/route';

export interface JobContextValue {
  id: string;
  // Without the scopes that are open: see OpenContext.
  route: JobRoute | null;
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
  hitIndex: new Map(),
  trail: new Map(),
  current: null,
});

// Apart from the rest, since it changes with every scope that is opened.
export const OpenContext = createContext<ReadonlySet<string>>(new Set());

export function useOpenScopes(): ReadonlySet<string> {
  return useContext(OpenContext);
}

export function useJobContext(): JobContextValue {
  return useContext(JobContext);
}
