import { useAuth } from '../state/auth';
import { useJob } from '../state/job_store';
import { reasonAgainst, type Action } from '../state/permissions';
import { pauseFirst } from '../words/change_orders';
import { useOfflineReason } from './use_offline_reason';

// Why the user may not do this to the job that the page shows; empty if it is permitted.
export function useReasonAgainst(action: Action): string {
  const session = useAuth((state) => state.session);
  const job = useJob(({ model }) => model.info);
  return reasonAgainst(action, session, job);
}

// Why nothing of the job can be changed now; empty if it can.
export function useReasonAgainstChange(): string {
  const offline = useOfflineReason();
  const forbidden = useReasonAgainst('change');
  const paused = useJob(({ model }) => model.info?.state === 'paused');
  if (forbidden !== '') return forbidden;
  return paused ? offline : pauseFirst;
}

// Why watchpoints cannot be changed now; empty if they can.
export function useReasonAgainstWatching(): string {
  const offline = useOfflineReason();
  const forbidden = useReasonAgainst('watch');
  return offline === '' ? forbidden : offline;
}
