// The user's permissions, from the role of the session and from the job owner's settings. The server
// checks every request itself; the page explains in advance what it would refuse. Pure functions.

import { ROLES, type Allowance, type Job, type Role, type Session } from '../api/types';
import * as words from '../words/access';
import { refusals } from '../words/control';
import { isOver } from './job';

export type Action = 'control' | 'watch' | 'record' | 'terminate' | 'delete' | 'open_model' | 'audit' | 'change' | 'attach';

const NEEDED_ROLE: Record<Action, Role> = {
  control: 'control',
  watch: 'control',
  record: 'control',
  open_model: 'control',
  terminate: 'admin',
  delete: 'admin',
  audit: 'admin',
  change: 'admin',
  attach: 'admin',
};

const NEEDED_ALLOWANCE: Partial<Record<Action, Allowance>> = {
  control: 'control',
  watch: 'control',
  record: 'change',
  terminate: 'terminate',
  change: 'change',
};

// Returns why the action is not permitted, or an empty text.
export function reasonAgainst(action: Action, session: Session | null, job: Job | null): string {
  const role = NEEDED_ROLE[action];
  if (session !== null && ROLES.indexOf(session.role) < ROLES.indexOf(role)) {
    return words.roleTooLow(role, session.role);
  }
  const allowance = NEEDED_ALLOWANCE[action];
  if (allowance === undefined || job === null) return '';
  if (job.damaged !== undefined) return words.damagedJob;
  if (action === 'watch' && isOver(job)) return refusals[job.state] ?? '';
  return job.allowed?.includes(allowance) === false ? words.notAllowedByJob[allowance] : '';
}
