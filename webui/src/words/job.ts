// Texts about jobs: their list, their state, the connection and the end of a job.

import type { Job, JobState, PauseReason, Rank } from '../api/types';

export const stateNames: Record<JobState, string> = {
  connecting: 'Connecting',
  paused: 'Paused',
  running: 'Running',
  pausing: 'Pausing',
  finished: 'Finished',
  terminated: 'Terminated',
  lost: 'Lost',
};

// Completes "Paused …".
export const pauseReasons: Partial<Record<PauseReason, string>> = {
  start: 'before the first step',
  step: 'after a step',
  node: 'at a node',
  watchpoint: 'by a watchpoint',
  user: 'on request',
  error: 'at an exception',
};

export const failed = 'Failed';
export const lastSeen = (steps: string) => `last seen after ${steps}`;
export const exitCode = (code: number | null | undefined) => `exit code ${code}`;

// Start of the page.
export const serverNotResponding = 'Server not responding';
export const retryingEveryTwoSeconds = 'Retrying every two seconds.';
export const connectingToServer = 'Connecting to the server';

export const starting = (name: string) => `${name} is starting…`;
export const startingHint = 'The page opens the job as soon as the program has loaded its framework.';

// List of jobs.
export const jobs = 'Jobs';
export const allJobs = 'All jobs';
export const loadingJobs = 'Loading jobs';
export const jobsNotLoaded = 'Could not load jobs';
export const noJobs = 'No jobs yet';
export const jobsAppear = 'Jobs appear here as soon as a training script starts with graphdbg.';
export const howToStart = (host: string, port: string) =>
  `export GRAPHDBG_ENABLE=1 GRAPHDBG_HOST=${host} GRAPHDBG_PORT=${port}\npython train.py`;
export const dropModel = 'To view an ONNX model without running it, drop its file here.';
export const agentsConnectTo = 'agents connect to';
export const commandOn = (command: string, name: string) => `${command} ${name}`;
export const removeJob = (name: string) => `Remove ${name}`;
export const confirmRemoval = (name: string) => `Remove ${name}?`;
export const removalWarning = 'Its graph, watchpoints and hits are deleted from the server. This cannot be undone.';
export const remove = 'Remove job';
export const notRemoved = (name: string) => `Could not remove ${name}`;
export const rankCount = (count: number) => `${count} ranks`;
export const columns = {
  job: 'Job',
  state: 'State',
  step: 'Step',
  node: 'Node',
  hits: 'Hits',
  metrics: 'Last values',
  framework: 'Framework',
  device: 'Device',
  started: 'Started',
  actions: 'Actions',
};
export const openModel = 'Open model';
export const modelNotOpened = (file: string) => `Could not open ${file}`;
export const modelFile = 'Model file';

// View of one job.
export const jobNotShown = 'Could not open this job';
export const jobRemoved = 'This job was removed';
export const dataDeleted = 'Its data has been deleted.';
export const resizeWatchpoints = 'Resize watchpoints';
export const resizeTree = 'Resize node tree';
export const resizeWatchpointsAndHits = 'Resize watchpoints and hits';
export const resizeNodePanel = 'Resize node panel';

// Top bar.
export const jobState = 'Job state';
export const homeSuffix = ': all jobs';
export const step = 'Step';
export const goToNode = (node: string) => `Go to ${node}`;
// Empty if it is not known, as in a dump of another program.
export const processName = ({ pid, host }: Rank) => (host === '' ? '' : `${pid}@${host}`);
export const processDetails = ({ pid, host, peer }: Rank, { framework, framework_version, id }: Job) =>
  [
    host === '' ? '' : `process ${pid} on ${host}`,
    `${framework} ${framework_version}`,
    `job ${id}`,
    peer === '' ? '' : `agent at ${peer}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
export const commands = 'Commands';
export const keyboardShortcuts = 'Keyboard shortcuts';
export const connectionNames = { connecting: 'Connecting', live: 'Live', lost: 'Offline' };
export const connectionHints = {
  connecting: 'Connecting to the server',
  live: 'Connected to the server',
  lost: 'Disconnected from the server; reconnecting',
};

// Connection.
export const notConnected = 'Not connected to the server.';
export const connectionLost = 'Connection to the server lost.';
export const reconnecting = (attempt: number) =>
  `Data may be out of date. Reconnecting${attempt > 1 ? ` (attempt ${attempt})` : ''}…`;
export const retryNow = 'Retry now';
export const serverStopped = 'Server stopped when the job ended.';
export const dataRemains = 'Data already loaded remains.';
export const reconnect = 'Reconnect';

// End of a job.
export const howJobEnded = 'How the job ended';
export const jobLost = 'The job is lost.';
export const processStoppedResponding = (after: string) =>
  `Its process stopped responding (last seen ${after}). The job resumes here if the agent reconnects.`;
export const after = (steps: string) => `after ${steps}`;
export const endVerbs = { terminated: 'was terminated', failed: 'failed', interrupted: 'was interrupted', finished: 'finished' };
export const jobEnded = (verb: string, when: string, code: string) => `The job ${verb} ${when}${code}.`;
export const afterTheEnd = 'Graph, watchpoints and hits remain; tensor values are no longer available.';
export const showNode = 'Show node';
export const traceback = 'Traceback';
export const pausedAtException = (rank: number | null) => `Paused at an exception${rank === null ? '' : ` on rank ${rank}`}:`;
export const stopJob = 'Stop job';
export const stopJobHint = 'Let the exception end the program';
export const showNodesOfLine = 'Show ops of this line';
export const showTraceback = 'Show traceback';
export const hideTraceback = 'Hide traceback';

// Getting started, in one line.
export const gettingStarted = 'Getting started';
export const firstSteps: Array<[string, string]> = [
  ['Watch', 'set a condition on node outputs'],
  ['Continue', 'the job pauses when the condition matches'],
  ['Inspect', 'select a node in the tree or in the graph'],
];
export const firstStepsAfterEnd: Array<[string, string]> = [
  ['The job is over', 'its graph remains'],
  ['Inspect', 'select a node or a hit to see its history and source'],
];
export const doNotShowAgain = 'Don’t show again';
