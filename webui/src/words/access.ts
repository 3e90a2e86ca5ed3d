// Texts about who may do what: roles, what a job allows, who controls it, and the audit log.

import type { Allowance, Role } from '../api/types';

export const roleNames: Record<Role, string> = { view: 'view', control: 'control', admin: 'admin' };

// Why an action is not permitted.
export const roleTooLow = (needed: Role, own: Role) =>
  `This needs the role “${roleNames[needed]}”; yours is “${roleNames[own]}”.`;
export const damagedJob = 'This job is damaged: it can be viewed and removed, but not changed.';
export const notAllowedByJob: Record<Allowance, string> = {
  view: 'The job’s owner does not allow reading values (GRAPHDBG_ALLOW).',
  control: 'The job’s owner does not allow controlling it (GRAPHDBG_ALLOW).',
  terminate: 'The job’s owner does not allow terminating it (GRAPHDBG_ALLOW).',
  change: 'The job’s owner does not allow changing it (GRAPHDBG_ALLOW).',
};

// Who controls a job.
export const controlledBy = (name: string) => `Controlled by ${name}`;
export const controlledByHint = (name: string) =>
  `${name} sent the last command. Other users’ commands are refused until ${name} gives the control back or has sent none for 5 minutes.`;
export const takeOver = 'Take over';
export const takeOverHint = (name: string) => `Take the control from ${name}`;
export const giveBack = 'Give back the control of the job';
export const notController = 'You do not control this job.';
export const controlLost = 'Your next command will be refused unless you take the control back.';
export const controls = (name: string) => `${name} controls this job`;
export const somebodyElse = 'Somebody else';
export const notRun = (command: string) => `${command} was refused.`;
export const takeOverFailed = 'Could not take over the control';
export const giveBackFailed = 'Could not give back the control';

// Audit log.
export const auditLog = 'Audit log';
export const auditColumns = {
  time: 'Time',
  who: 'Who',
  from: 'From',
  action: 'Action',
  job: 'Job',
  detail: 'Detail',
  result: 'Result',
};
export const unknownCaller = 'unknown';
export const loadingAudit = 'Loading the audit log';
export const auditNotLoaded = 'Could not load the audit log';
export const noEntries = 'No entries yet';
export const olderEntries = 'Older entries';
export const ok = 'ok';
