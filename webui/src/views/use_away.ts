import { useJob } from '../state/job_store';

// Why nothing can be asked of the server; empty: it is there.
export function useAway(): string {
  return useJob(({ connection }) => (connection === 'live' ? '' : 'The page is not connected to the server.'));
}
