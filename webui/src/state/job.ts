// The page's model of one job, and how events change it. Pure functions.

import type { Hit, Job, JobState, ServerEvent, Watchpoint } from '../api/types';
import { append, linesOf, reportedAfter, type JournalEntry, type Line } from './journal';

export interface LogLine {
  level: string;
  message: string;
}

export interface JobModel {
  info: Job | null;
  // A snapshot or the job's data has arrived.
  known: boolean;
  forgotten: boolean;
  watchpoints: Watchpoint[];
  // In execution order.
  hits: Hit[];
  // Increases each time the job stops at another place. Values fetched before are out of date.
  stops: number;
  // Increase with each change of the graph, of watchpoints and of hits.
  graph_version: number;
  watch_version: number;
  hit_version: number;
  // Counts what may have changed the findings.
  finding_version: number;
  // Commands that took effect or were refused, newest last.
  settled: string[];
  refusal: { command_id: string; message: string } | null;
  // Log messages of the last batch of events.
  logs: LogLine[];
  // Events since the page was opened, newest last.
  journal: JournalEntry[];
  // Watchpoints as reported by events; `watchpoints` may be ahead of them.
  reported: ReadonlyMap<number, Watchpoint>;
}

// The newest hits are kept; the server has the others.
export const MAX_HITS = 20_000;
const MAX_SETTLED = 64;

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
    finding_version: 0,
    settled: [],
    refusal: null,
    logs: [],
    journal: [],
    reported: new Map(),
  };
}

export function compareHits(a: Hit, b: Hit): number {
  return a.step - b.step || a.order - b.order || a.rank - b.rank || a.id - b.id;
}

// Returns the hits in `arrived` that are not known. New hits have higher ids than all known ones, so
// the common case needs no set.
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

// Of many ranks, an event has only those that have changed, and of these only what can change.
export function withAllRanks(before: Job | null, info: Job): Job {
  if (info.ranks_complete !== false) return info;
  const ranks = new Map((before?.ranks ?? []).map((rank) => [rank.rank, rank]));
  for (const rank of info.ranks) ranks.set(rank.rank, { ...ranks.get(rank.rank), ...rank });
  return { ...info, ranks: [...ranks.values()].sort((a, b) => a.rank - b.rank) };
}

function withInfo(model: JobModel, arrived: Job | null): JobModel {
  if (arrived === null) return { ...model, forgotten: true, known: true };
  const info = withAllRanks(model.info, arrived);
  const stops = model.stops + (stoppedElsewhere(model.info, info) ? 1 : 0);
  return { ...model, info, known: true, forgotten: false, stops };
}

// Replaces the job's data without an event.
export function putInfo(model: JobModel, info: Job): JobModel {
  return withInfo(model, info);
}

function settle(model: JobModel, command_id: string, error: string | null): JobModel {
  const settled = [...model.settled, command_id].slice(-MAX_SETTLED);
  return { ...model, settled, refusal: error === null ? null : { command_id, message: error } };
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

function reduceState(model: JobModel, event: ServerEvent): JobModel {
  switch (event.type) {
    case 'job':
    case 'state': {
      const next = withInfo(model, event.info);
      return event.command_id ? settle(next, event.command_id, event.error || null) : next;
    }
    case 'graph':
      return { ...model, graph_version: model.graph_version + 1 };
    case 'hit':
      return withHits(model, [event.hit]);
    case 'finding':
      return { ...model, finding_version: model.finding_version + 1 };
    case 'watchpoint': {
      const id = event.watchpoint?.id ?? event.id;
      return id === undefined ? model : withWatchpoint(model, id, event.watchpoint);
    }
    case 'log':
      return { ...model, logs: [...model.logs, { level: event.level, message: event.message }] };
    case 'snapshot':
      return {
        ...withInfo(model, event.info),
        watchpoints: [...event.watchpoints].sort((a, b) => a.id - b.id),
        hits: [...event.hits].sort(compareHits),
        graph_version: model.graph_version + 1,
        watch_version: model.watch_version + 1,
        hit_version: model.hit_version + 1,
        finding_version: model.finding_version + 1,
      };
    case 'command':
    case 'tensor':
    case 'server':
      return model;
  }
}

export function reduceJob(model: JobModel, event: ServerEvent): JobModel {
  if (event.type === 'hit') return reduceState(model, event);
  return {
    ...reduceState(model, event),
    journal: append(model.journal, linesOf(event, model), event.time),
    reported: reportedAfter(model.reported, event),
  };
}

// Adds a line about something that no event reports.
export function recordLine(model: JobModel, line: Line): JobModel {
  return { ...model, journal: append(model.journal, [line], undefined) };
}

// Applies many events. Consecutive hits are merged in one go, which matters in a burst of thousands.
// They may be applied after other events, except a snapshot, which replaces all hits.
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

// Adds hits that were requested to those received as events.
export function putHits(model: JobModel, hits: readonly Hit[]): JobModel {
  return withHits(model, hits, Infinity);
}

// Adds a watchpoint returned by a request, before its event arrives.
export function putWatchpoint(model: JobModel, watchpoint: Watchpoint): JobModel {
  return withWatchpoint(model, watchpoint.id, watchpoint);
}

export function dropWatchpoint(model: JobModel, id: number): JobModel {
  return withWatchpoint(model, id, null);
}

// Returns whether the job is an opened model file, which was not run.
export function isOpenedModel(job: Job): boolean {
  return job.framework === 'onnx';
}

// Whether the values of this rank can be requested. The others may still run.
export function isPaused(info: Job | null, rank: number): boolean {
  const own = info !== null && info.world_size > 1 ? info.ranks.find((each) => each.rank === rank) : undefined;
  return (own ?? info)?.state === 'paused';
}

export function isEnded(state: JobState): boolean {
  return state === 'finished' || state === 'terminated' || state === 'lost';
}

export function hasEnded(job: Job | null): boolean {
  return job !== null && (job.state === 'finished' || job.state === 'terminated');
}

// No process of the job answers any more.
export function isOver(job: Job | null): boolean {
  return hasEnded(job) || job?.state === 'lost';
}
