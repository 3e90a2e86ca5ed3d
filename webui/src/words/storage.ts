// Texts about a server that cannot store what happens, and about damaged and unverified jobs.

export const notStored = (reason: string | null) =>
  reason === null || reason === '' ? 'The server cannot store what happens.' : `The server cannot store what happens: ${reason.replace(/\.$/, '')}.`;
export const notStoredMeaning =
  'Jobs continue and nothing shown is lost while the server runs. New hits wait in the jobs; changes are refused. Storing resumes by itself.';
export const since = (time: string) => `Since ${time}.`;

export const damaged = 'Damaged';
export const damagedHint = (reason: string) => `${reason}. What could be restored can be viewed; the job can only be removed.`;
export const unreadableJobs = 'Jobs that could not be read';

export const unverified = 'unverified';
export const unverifiedHint =
  'MindSpore’s debugger protocol has no authentication: the server cannot check that this job is what it claims to be.';
