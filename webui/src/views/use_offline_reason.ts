import { useJob } from '../state/job_store';
import { notConnected } from '../words/job';

// The reason why requests to the server are not possible; empty while connected.
export function useOfflineReason(): string {
  return useJob(({ connection }) => (connection === 'live' ? '' : notConnected));
}
