// State shared by all parts of a job's view.

import { createContext, useContext } from 'react';
import type { Trail } from '../graph/marks';
import type { JobRoute } from '../state/route';

export interface JobContextValue {
  id: string;
  // Does not include the open scopes, which are in OpenContext.
  route: JobRoute | null;
  // Number of hits by name, for nodes and for the scopes around them.
  hitIndex: ReadonlyMap<string, number>;
  // Where non-finite values started and where they were passed on, also by name.
  trail: ReadonlyMap<string, Trail>;
  // The node at which the job is; null before the first one.
  current: string | null;
}

export const JobContext = createContext<JobContextValue>({
  id: '',
  route: null,
  hitIndex: new Map(),
  trail: new Map(),
  current: null,
});

// A context of its own, since it changes with every scope that is opened or closed.
export const OpenContext = createContext<ReadonlySet<string>>(new Set());

export function useOpenScopes(): ReadonlySet<string> {
  return useContext(OpenContext);
}

export function useJobContext(): JobContextValue {
  return useContext(JobContext);
}
