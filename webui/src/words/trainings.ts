// Texts about trainings of the server's machine: attaching to them and detaching.

export const trainings = 'Trainings on this machine';
export const columns = {
  process: 'Process',
  script: 'Script',
  rank: 'Rank',
  framework: 'Framework',
  started: 'Started',
  debugged: 'Debugged',
  actions: 'Actions',
};
export const loading = 'Looking for trainings';
export const notListed = 'Could not list the trainings of this machine';
export const refresh = 'Refresh';
export const none = 'No training of yours runs on this machine.';
export const notDebugged = 'no';
export const elsewhere = (server: string) => `by ${server}`;

export const attach = 'Attach';
export const attachTo = (script: string, pid: number) => `Attach to ${script}, process ${pid}`;
export const attachHint = 'Debug it from its next step on, with all of its ranks on this machine. It keeps running';
export const cannotAttach = (script: string) => `Could not attach to ${script}`;
export const detach = 'Detach';
export const detachFrom = (script: string, pid: number) => `Detach from ${script}, process ${pid}`;
export const detachHint = 'Take graphdbg out of the program, which continues';
export const cannotDetach = (name: string) => `Could not detach from ${name}`;
export const detached = (name: string) => `Detached from ${name}`;
export const stillRuns = 'The program still runs, without graphdbg.';
export const attachAgain = 'Attach again';
export const needsPid = 'Its process is not on the server’s machine.';
