// The job that the page shows: its model, the event stream that feeds it, and the command
// that is pending.

import { create } from 'zustand';
import { api } from '../api/client';
import { EventStream, type Connection } from '../api/events';
import { Problem } from '../api/problem';
import type { ControlCommand, ServerEvent } from '../api/types';
import { controlLost, notRun } from '../words/access';
import { commandNames, commandRefused, refused } from '../words/control';
import { connectionLost, controlTaken, messageFromJob, reconnected } from '../words/log';
import { useAuth } from './auth';
import { targetsFor } from './command_ranks';
import { rankFor, type Pending } from './controls';
import { describe } from './describe';
import { EventBatcher } from './event_batcher';
import { emptyJob, hasEnded, recordLine, reduceEvents, type JobModel } from './job';
import { controllerOf } from './journal';
import { offerTakeOver } from './lease';
import { setStorage } from './storage';
import { showToast } from './toasts';

interface JobStore {
  id: string | null;
  model: JobModel;
  connection: Connection;
  attempt: number;
  pending: Pending | null;
  // Ids of the commands that this page sent.
  own_commands: ReadonlySet<string>;
  // Why the job cannot be shown; null if it can.
  problem: Problem | null;
  // When the user last sent a command, in ms since navigation.
  commanded_at: number;
}

const INITIAL: JobStore = {
  id: null,
  model: emptyJob(),
  connection: 'connecting',
  attempt: 0,
  pending: null,
  own_commands: new Set(),
  problem: null,
  commanded_at: -Infinity,
};

export const useJob = create<JobStore>(() => INITIAL);

// The command remains pending until the server reports its outcome or the job ends.
function pendingAfter(pending: Pending | null, model: JobModel): Pending | null {
  if (pending === null || hasEnded(model.info) || model.info?.state === 'lost') return null;
  const done = pending.command_id !== null && model.settled.includes(pending.command_id);
  return done ? null : pending;
}

function applyEvents(events: readonly ServerEvent[]): void {
  const before = useJob.getState();
  const model = reduceEvents(before.model, events);
  useJob.setState({
    model,
    pending: pendingAfter(before.pending, model),
    // The job may have connected after the request that failed.
    problem: model.info === null ? before.problem : null,
  });
  if (model.refusal !== null && model.refusal !== before.model.refusal) {
    showToast({ kind: 'error', title: commandRefused, detail: model.refusal.message });
  }
  const [old, now] = [controllerOf(before.model.info), controllerOf(model.info)];
  if (old !== null && old === useAuth.getState().session?.name && now !== null && now !== old) {
    showToast({ kind: 'info', title: controlTaken(now), detail: controlLost });
  }
  for (const { level, message } of model.logs) {
    const kind = level === 'error' ? 'error' : 'info';
    const title = messageFromJob(level);
    showToast({ kind, title, detail: message });
  }
}

function recordConnection({ connection: before, model }: JobStore, now: Connection): JobModel {
  if (now === 'lost' && before === 'live') {
    return recordLine(model, { kind: 'warning', text: connectionLost, place: null });
  }
  if (now === 'live' && before === 'lost') {
    return recordLine(model, { kind: 'log', text: reconnected, place: null });
  }
  return model;
}

// Follows one job at a time; opening another one starts over.
class JobFollower {
  private stream: EventStream | null = null;
  private readonly batcher = new EventBatcher(applyEvents);

  // Returns a function that closes the job.
  open(id: string, onRefused: () => void): () => void {
    this.batcher.clear();
    useJob.setState(initialJob(id));
    api.job(id).catch((error: unknown) => {
      if (useJob.getState().id === id && error instanceof Problem && error.status !== 0 && error.status !== 401) {
        useJob.setState({ problem: error });
      }
    });
    const stream = new EventStream(id, {
      onEvent: (event) => this.receive(event),
      onConnection: (connection, attempt) =>
        useJob.setState((before) => ({ connection, attempt, model: recordConnection(before, connection) })),
      onRefused,
    });
    this.stream = stream;
    return () => {
      stream.close();
      if (this.stream === stream) this.stream = null;
    };
  }

  retry(): void {
    this.stream?.retryNow();
  }

  private receive(event: ServerEvent): void {
    if (event.type === 'server') return setStorage(event.storage);
    // A snapshot follows a gap in the events, which may have contained the command's outcome.
    if (event.type === 'snapshot') useJob.setState({ pending: null });
    this.batcher.add(event);
  }
}

// The state of the store before anything is known of a job.
export function initialJob(id: string): JobStore {
  return { ...INITIAL, id, model: emptyJob() };
}

const follower = new JobFollower();

export function openJob(id: string, onRefused: () => void): () => void {
  return follower.open(id, onRefused);
}

export function retryConnection(): void {
  follower.retry();
}

export interface CommandOptions {
  steps?: number;
  node?: string;
}

export async function sendCommand(
  command: ControlCommand,
  options: CommandOptions = {},
): Promise<void> {
  const { id, model } = useJob.getState();
  if (id === null) return;
  const rank = rankFor(command, model.info, targetsFor(id));
  useJob.setState({ pending: { command, command_id: null }, commanded_at: performance.now() });
  try {
    const { command_id } = await api.control(id, { command, ...options, ...(rank === null ? {} : { rank }) });
    // The event with the outcome may have arrived before this response.
    useJob.setState((state) => ({
      pending: pendingAfter({ command, command_id }, state.model),
      own_commands: new Set(state.own_commands).add(command_id),
    }));
  } catch (error) {
    const title = refused(command);
    const detail = describe(error);
    const line = { kind: 'refused', text: `${title}: ${detail}`, place: null } as const;
    useJob.setState(({ model }) => ({ pending: null, model: recordLine(model, line) }));
    const controller = useJob.getState().model.info?.controller;
    const again = () => void sendCommand(command, options);
    const offered = offerTakeOver({ job: id, controller, error, detail: notRun(commandNames[command]), again });
    if (!offered) showToast({ kind: 'error', title, detail });
  }
}
