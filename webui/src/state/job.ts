// What the page knows of one job, and how each event changes it. Pure.

import type { Hit, Job, ServerEvent, Watchpoint } from '../api/types';
import { stateWords } from './words';

export interface LogLine {
  level: string;
  message: string;
}

// What happened, for the log: newest last.
export interface JournalEntry {
  // Counts up; the time is the server's.
  id: number;
  time: string;
  kind: 'state' | 'watchpoint' | 'refused' | 'log' | 'warning' | 'error';
  text: string;
  node: string | null;
}

export interface JobModel {
  info: Job | null;
  // A snapshot or the job itself has arrived.
  known: boolean;
  forgotten: boolean;
  watchpoints: Watchpoint[];
  // In execution order.
  hits: Hit[];
  // Grows each time the job stops somewhere else: values fetched before are old.
  stops: number;
  // Grows with each change of the graph, of watchpoints and of hits.
  graph_version: number;
  watch_version: number;
  hit_version: number;
  // Commands that took effect or were refused, newest last.
  settled: string[];
  refusal: { command_id: string; message: string } | null;
  // Those that arrived with the last events.
  logs: LogLine[];
  journal: JournalEntry[];
}

// Newest of those that come by themselves; the server has the others.
export const MAX_HITS = 20_000;
const MAX_SETTLED = 64;
const MAX_JOURNAL = 500;

export function emptyJob(): JobModel {
  return {
    info: null,
    known: false,
    forgotten: false,
    watchpoints: [],
    hits: [],
    stops: 0,
    graph_version: 0,
    watch_version: 0,
    hit_version: 0,
    settled: [],
    refusal: null,
    logs: [],
    journal: [],
  };
}

export function compareHits(a: Hit, b: Hit): number {
  return a.step - b.step || a.order - b.order || a.rank - b.rank || a.id - b.id;
}

// Those of `arrived` that are not known. New hits have ids above all known ones, so
// that a burst need not look at those that are there.
function freshHits(hits: readonly Hit[], arrived: readonly Hit[]): readonly Hit[] {
  let newest = 0;
  for (const { id } of hits) newest = Math.max(newest, id);
  if (arrived.every(({ id }) => id > newest)) return arrived;
  const known = new Set(hits.map((hit) => hit.id));
  return arrived.filter((hit) => !known.has(hit.id));
}

export function mergeHits(hits: Hit[], arrived: readonly Hit[], most = MAX_HITS): Hit[] {
  const fresh = freshHits(hits, arrived);
  if (fresh.length === 0) return hits;
  const next = [...hits, ...fresh].sort(compareHits);
  return next.length > most ? next.slice(next.length - most) : next;
}

function stoppedElsewhere(before: Job | null, now: Job | null): boolean {
  if (now === null || now.state !== 'paused') return false;
  return (
    before === null ||
    before.state !== 'paused' ||
    before.step !== now.step ||
    before.node !== now.node
  );
}

function withInfo(model: JobModel, info: Job | null): JobModel {
  if (info === null) return { ...model, forgotten: true, known: true };
  const stops = model.stops + (stoppedElsewhere(model.info, info) ? 1 : 0);
  return { ...model, info, known: true, forgotten: false, stops };
}

function noted(model: JobModel, event: ServerEvent, entry: Omit<JournalEntry, 'id' | 'time'>): JobModel {
  const id = (model.journal.at(-1)?.id ?? 0) + 1;
  const time = event.time ?? new Date().toISOString();
  return { ...model, journal: [...model.journal, { id, time, ...entry }].slice(-MAX_JOURNAL) };
}

// A line for each change of state; steps that pass by are none.
function withStateNoted(before: Job | null, model: JobModel, event: ServerEvent): JobModel {
  const { info } = model;
  if (info === null) return model;
  const moved = info.state === 'paused' && (before?.step !== info.step || before?.node !== info.node);
  if (before !== null && before.state === info.state && !moved) return model;
  const node = info.node ? info.node : null;
  const words = stateWords(info.state, info.pause_reason);
  const text = `${words}, step ${info.step}`;
  return noted(model, event, { kind: 'state', text, node });
}

function watchpointText(before: JobModel, id: number, watchpoint: Watchpoint | null): string | null {
  const known = before.watchpoints.find((other) => other.id === id);
  if (watchpoint === null) return `Watchpoint ${id} removed`;
  if (known === undefined) return `Watchpoint ${id} set: ${watchpoint.condition.id}`;
  if (known.enabled !== watchpoint.enabled) {
    return `Watchpoint ${id} switched ${watchpoint.enabled ? 'on' : 'off'}`;
  }
  return null;
}

function errorText(error: unknown): string | null {
  if (typeof error === 'string') return error === '' ? null : error;
  if (typeof error !== 'object' || error === null) return null;
  const detail = (error as { detail?: unknown }).detail;
  return typeof detail === 'string' ? detail : 'The command was refused.';
}

function settle(model: JobModel, command_id: string, error: unknown): JobModel {
  const settled = [...model.settled, command_id].slice(-MAX_SETTLED);
  const message = errorText(error);
  return { ...model, settled, refusal: message === null ? null : { command_id, message } };
}

function withWatchpoint(model: JobModel, id: number, watchpoint: Watchpoint | null): JobModel {
  const others = model.watchpoints.filter((other) => other.id !== id);
  const watchpoints =
    watchpoint === null ? others : [...others, watchpoint].sort((a, b) => a.id - b.id);
  return { ...model, watchpoints, watch_version: model.watch_version + 1 };
}

function withHits(model: JobModel, arrived: readonly Hit[], most?: number): JobModel {
  const hits = mergeHits(model.hits, arrived, most);
  return hits === model.hits ? model : { ...model, hits, hit_version: model.hit_version + 1 };
}

export function reduceJob(model: JobModel, event: ServerEvent): JobModel {
  switch (event.type) {
    case 'job':
    case 'state': {
      const next = withStateNoted(model.info, withInfo(model, event.info), event);
      if (!event.command_id) return next;
      const settled = settle(next, event.command_id, event.error);
      if (settled.refusal === null) return settled;
      return noted(settled, event, { kind: 'refused', text: settled.refusal.message, node: null });
    }
    case 'graph':
      return { ...model, graph_version: model.graph_version + 1 };
    case 'hit':
      return withHits(model, [event.hit]);
    case 'watchpoint': {
      const id = event.watchpoint?.id ?? event.id;
      if (id === undefined) return model;
      const next = withWatchpoint(model, id, event.watchpoint);
      const text = watchpointText(model, id, event.watchpoint);
      return text === null ? next : noted(next, event, { kind: 'watchpoint', text, node: null });
    }
    case 'log': {
      const line = { level: event.level, message: event.message };
      const kind = event.level === 'error' || event.level === 'warning' ? event.level : 'log';
      const next = { ...model, logs: [...model.logs, line] };
      return noted(next, event, { kind, text: event.message, node: null });
    }
    case 'snapshot': {
      const next = withStateNoted(model.info, withInfo(model, event.info), event);
      return {
        ...next,
        watchpoints: [...event.watchpoints].sort((a, b) => a.id - b.id),
        hits: [...event.hits].sort(compareHits),
        graph_version: model.graph_version + 1,
        watch_version: model.watch_version + 1,
        hit_version: model.hit_version + 1,
      };
    }
    case 'tensor':
      return model;
  }
}

// Many events at once. Hits are taken together, in a burst once for thousands: no
// other event looks at them, but a snapshot replaces them.
export function reduceEvents(model: JobModel, events: readonly ServerEvent[]): JobModel {
  let next = model.logs.length === 0 ? model : { ...model, logs: [] };
  let run: Hit[] = [];
  const flush = () => {
    if (run.length > 0) next = withHits(next, run);
    run = [];
  };
  for (const event of events) {
    if (event.type === 'hit') {
      run.push(event.hit);
      continue;
    }
    if (event.type === 'snapshot') flush();
    next = reduceJob(next, event);
  }
  flush();
  return next;
}

// Hits that were asked for, beside those that came by themselves.
export function putHits(model: JobModel, hits: readonly Hit[]): JobModel {
  return withHits(model, hits, Infinity);
}

// Adds one watchpoint that a request returned, ahead of its event.
export function putWatchpoint(model: JobModel, watchpoint: Watchpoint): JobModel {
  return withWatchpoint(model, watchpoint.id, watchpoint);
}

export function dropWatchpoint(model: JobModel, id: number): JobModel {
  return withWatchpoint(model, id, null);
}

// As the server calls a model file that was opened: it was not run.
export function isOpenedModel(job: Job): boolean {
  return job.framework === 'onnx';
}

export function hasEnded(job: Job | null): boolean {
  return job !== null && (job.state === 'finished' || job.state === 'terminated');
}
