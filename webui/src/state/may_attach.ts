// Apart from trainings.ts, which the first view does not need.

import { useAuth } from './auth';
import { reasonAgainst } from './permissions';

// Whether the server attaches to trainings, and the user may have it do so.
export function useMayAttach(): boolean {
  return useAuth(({ server, session }) => server?.attaches === true && session !== null && reasonAgainst('attach', session, null) === '');
}
