// The job that the page looks at: its model, the stream that feeds it, and the
// command that is on its way.

import { create } from 'zustand';
import { api } from '../api/client';
import { EventStream, type Connection } from '../api/events';
import { describe, Problem } from '../api/problem';
import type { ControlCommand, ServerEvent } from '../api/types';
import { COMMAND_NAMES, type Pending } from './controls';
import { emptyJob, hasEnded, note, reduceEvents, type JobModel } from './job';
import { showToast } from './toasts';

interface JobStore {
  id: string | null;
  model: JobModel;
  connection: Connection;
  attempt: number;
  pending: Pending | null;
  // Of the commands that this page gave.
  own_commands: ReadonlySet<string>;
  // Why the job cannot be shown, if so.
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

let stream: EventStream | null = null;
let queue: ServerEvent[] = [];
let scheduled = false;
// In a burst, no change is made before.
let hold_until = 0;

function pendingAfter(pending: Pending | null, model: JobModel): Pending | null {
  if (pending === null || hasEnded(model.info) || model.info?.state === 'lost') return null;
  const done = pending.command_id !== null && model.settled.includes(pending.command_id);
  return done ? null : pending;
}

// After so many hits in a frame, the next ones wait: lists and marks are drawn anew
// with each, and nobody reads that fast.
const BURST_HITS = 30;
const BURST_MS = 200;

function isBurst(events: readonly ServerEvent[]): boolean {
  return events.length >= BURST_HITS && events.filter((event) => event.type === 'hit').length >= BURST_HITS;
}

function flush(): void {
  scheduled = false;
  const events = queue;
  queue = [];
  if (events.length === 0) return;
  if (isBurst(events)) hold_until = performance.now() + BURST_MS;
  const before = useJob.getState();
  const model = reduceEvents(before.model, events);
  useJob.setState({
    model,
    pending: pendingAfter(before.pending, model),
    // It may have come after it was asked for.
    problem: model.info === null ? before.problem : null,
  });
  if (model.refusal !== null && model.refusal !== before.model.refusal) {
    showToast({ kind: 'error', title: 'Command refused', detail: model.refusal.message });
  }
  for (const { level, message } of model.logs) {
    const kind = level === 'error' ? 'error' : 'info';
    showToast({ kind, title: level === 'info' ? 'The job says' : `The job says (${level})`, detail: message });
  }
}

// Bursts of events become one change per frame. A hidden page has no frames, but
// must not fall behind either.
function enqueue(event: ServerEvent): void {
  queue.push(event);
  if (scheduled) return;
  scheduled = true;
  const wait = hold_until - performance.now();
  if (wait > 0) setTimeout(flush, wait);
  else if (document.hidden) setTimeout(flush, 50);
  else requestAnimationFrame(flush);
}

// A snapshot replaces what was known; what a lost stream answered is lost too.
function receive(event: ServerEvent): void {
  if (event.type === 'snapshot') useJob.setState({ pending: null });
  enqueue(event);
}

function noteConnection({ connection: before, model }: JobStore, now: Connection): JobModel {
  if (now === 'lost' && before === 'live') {
    return note(model, { kind: 'warning', text: 'The connection to the server is lost', place: null });
  }
  if (now === 'live' && before === 'lost') {
    return note(model, { kind: 'log', text: 'The page is connected to the server again', place: null });
  }
  return model;
}

export function openJob(id: string, onRefused: () => void): () => void {
  queue = [];
  useJob.setState({ ...INITIAL, id, model: emptyJob() });
  api.job(id).catch((error: unknown) => {
    if (useJob.getState().id === id && error instanceof Problem && error.status !== 0) {
      useJob.setState({ problem: error });
    }
  });
  const own = new EventStream(id, {
    onEvent: receive,
    onConnection: (connection, attempt) =>
      useJob.setState((before) => ({ connection, attempt, model: noteConnection(before, connection) })),
    onRefused,
  });
  stream = own;
  return () => {
    own.close();
    if (stream === own) stream = null;
  };
}

export function retryConnection(): void {
  stream?.retryNow();
}

export interface CommandOptions {
  steps?: number;
  node?: string;
}

export async function sendCommand(
  command: ControlCommand,
  options: CommandOptions = {},
): Promise<void> {
  const { id } = useJob.getState();
  if (id === null) return;
  useJob.setState({ pending: { command, command_id: null }, commanded_at: performance.now() });
  try {
    const { command_id } = await api.control(id, { command, ...options });
    // The outcome may have overtaken the answer.
    useJob.setState((state) => ({
      pending: pendingAfter({ command, command_id }, state.model),
      own_commands: new Set(state.own_commands).add(command_id),
    }));
  } catch (error) {
    const title = `${COMMAND_NAMES[command]} was refused`;
    const detail = describe(error);
    const line = { kind: 'refused', text: `${title}: ${detail}`, place: null } as const;
    useJob.setState(({ model }) => ({ pending: null, model: note(model, line) }));
    showToast({ kind: 'error', title, detail });
  }
}
