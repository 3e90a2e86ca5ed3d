// The findings of rules in the job that the page shows.

import { create } from 'zustand';
import { api } from '../api/client';
import type { Finding } from '../api/types';

// Older ones are only counted.
const MAX_FINDINGS = 500;

interface FindingsStore {
  job: string | null;
  // In the order in which they were found.
  findings: readonly Finding[];
  total: number;
}

const NONE: FindingsStore = { job: null, findings: [], total: 0 };

export const useFindings = create<FindingsStore>(() => NONE);

// Findings of another job are gone at once. A failure leaves what is known: the next event or
// reconnection loads again.
export async function loadFindings(job: string | null): Promise<void> {
  if (useFindings.getState().job !== job) useFindings.setState({ ...NONE, job });
  if (job === null) return;
  try {
    const { findings, total } = await api.findings(job, MAX_FINDINGS);
    if (useFindings.getState().job === job) useFindings.setState({ findings, total });
  } catch {
    // See above.
  }
}
