// The log of a job as text: commands, stops, watchpoints, ranks and messages. Pure functions.

import type { Job, Rank, ServerEvent, Watchpoint } from '../api/types';
import { splitTensor } from '../base/names';
import { commandNames } from '../words/control';
import { found } from '../words/findings';
import { exitCode } from '../words/job';
import * as words from '../words/log';
import { conditionOn } from '../words/watch';
import { conditionText, targetText } from './condition_text';
import { hasFailed, stateWords } from './words';

export type EntryKind = 'command' | 'refused' | 'state' | 'watchpoint' | 'rank' | 'log' | 'warning' | 'error';

// The target of a click on the entry.
export type Place = { node: string } | { watchpoint: number } | { rank: number };

export interface Line {
  kind: EntryKind;
  text: string;
  place: Place | null;
  // For a command: its id and its sender.
  order?: { id: string; user: string; client: string; peer: string };
}

export interface JournalEntry extends Line {
  // Consecutive, starting at 1.
  id: number;
  // Time of the server, as ISO 8601.
  time: string;
}

// The state before an event.
interface Before {
  info: Job | null;
  // Watchpoints as reported by events. Responses to the page's own requests are ahead of these.
  reported: ReadonlyMap<number, Watchpoint>;
  journal: readonly JournalEntry[];
}

const MAX_ENTRIES = 500;

export function append(journal: JournalEntry[], lines: readonly Line[], time: string | undefined): JournalEntry[] {
  if (lines.length === 0) return journal;
  const first = (journal.at(-1)?.id ?? 0) + 1;
  const at = time ?? new Date().toISOString();
  const entries = lines.map((line, i) => ({ ...line, id: first + i, time: at }));
  return [...journal, ...entries].slice(-MAX_ENTRIES);
}

const line = (kind: EntryKind, text: string, place: Place | null = null): Line => ({ kind, text, place });

function watchpointWords({ condition, ...on }: Watchpoint): string {
  return conditionOn(conditionText(condition.id, condition.params), targetText({ condition, ...on }));
}

// "Paused by a watchpoint, step 3: 1 NaN or infinity".
function stopText(info: Job, reported: Before['reported']): string {
  const state = words.stateAt(stateWords(info.state, info.pause_reason), info.step);
  const by = (info.stopped_by ?? []).flatMap((id) => {
    const { condition } = reported.get(id) ?? {};
    return condition === undefined ? [] : [`${id} ${conditionText(condition.id, condition.params)}`];
  });
  return info.state === 'paused' && by.length > 0 ? words.stoppedBy(state, by) : state;
}

function failureText({ step, exception, exit_code }: Job): string {
  const why = exception ? `${exception.type}: ${exception.message}` : exitCode(exit_code);
  return words.failedAt(step, why);
}

// One line per change of state, except for changes caused by a command, which has its own line, and
// for steps at which the job does not stop.
function stateLines(before: Job | null, info: Job, reported: Before['reported']): Line[] {
  const moved = info.state === 'paused' && (before?.step !== info.step || before?.node !== info.node);
  if (before?.state === info.state && !moved) return [];
  const runs = info.state === 'running' || info.state === 'pausing';
  if (runs && before !== null && ['paused', 'running', 'pausing'].includes(before.state)) return [];
  const node = info.node || info.exception?.node;
  const by = info.state === 'paused' ? info.stopped_by?.[0] : undefined;
  const place = node ? { node } : by === undefined ? null : { watchpoint: by };
  return [hasFailed(info) ? line('error', failureText(info), place) : line('state', stopText(info, reported), place)];
}

const rankOf = (job: Job | null, number: number): Rank | undefined =>
  job?.ranks.find(({ rank }) => rank === number);

// The name of the user who controls the job.
export const controllerOf = (job: Job | null): string | null => job?.controller?.name ?? null;

const GONE = new Set(['finished', 'terminated', 'lost']);

// Lines for ranks that connect or leave. If there is only one rank, the job's own state reports that
// it left.
function rankLines(before: Job | null, info: Job, event: ServerEvent): Line[] {
  const rank = rankOf(info, event.rank ?? 0);
  if (rank === undefined || before === null) return [];
  const old = rankOf(before, rank.rank);
  const place = { rank: rank.rank };
  if (event.type === 'job') {
    // The event may also report a new controller.
    if (controllerOf(before) !== controllerOf(info)) return [];
    const again = old?.pid === rank.pid && old.host === rank.host;
    return [line('rank', words.rankConnected(again, rank), place)];
  }
  const left = GONE.has(rank.state) && old !== undefined && old.state !== rank.state;
  if (!left || info.world_size === 1) return [];
  return [line('rank', words.rankLeft(rank, stateWords(rank.state, null)), place)];
}

function takeOverLines(before: Job | null, info: Job): Line[] {
  const [old, now] = [controllerOf(before), controllerOf(info)];
  return old === null || now === null || old === now ? [] : [line('command', words.controlTaken(now))];
}

function refusalLines(event: ServerEvent, journal: Before['journal']): Line[] {
  if ((event.type !== 'job' && event.type !== 'state') || !event.command_id || !event.error) return [];
  const command = journal.findLast(({ order }) => order?.id === event.command_id);
  return [line('refused', words.refused(command?.text, event.error))];
}

function specText({ condition, nodes, scopes, patterns, categories, pause }: Watchpoint): string {
  return JSON.stringify([condition, nodes, scopes, patterns, categories, pause]);
}

function watchpointLines(old: Watchpoint | undefined, id: number, now: Watchpoint | null): Line[] {
  const place = { watchpoint: id };
  if (now === null) {
    return [line('watchpoint', words.watchpointDeleted(id, old === undefined ? null : watchpointWords(old)))];
  }
  if (old === undefined) return [line('watchpoint', words.watchpointSet(id, watchpointWords(now)), place)];
  const lines: Line[] = [];
  if (specText(old) !== specText(now)) {
    lines.push(line('watchpoint', words.watchpointChanged(id, watchpointWords(now)), place));
  }
  if (old.enabled !== now.enabled) {
    lines.push(line('watchpoint', words.watchpointSwitched(id, now.enabled), place));
  }
  if (now.error && old.error !== now.error) lines.push(line('warning', words.watchpointError(id, now.error), place));
  return lines;
}

function commandLines(event: Extract<ServerEvent, { type: 'command' }>): Line[] {
  const { command, steps, node, rank, client, peer, user } = event.command;
  const parts: string[] = [commandNames[command]];
  if (steps !== null && steps > 1) parts.push(String(steps));
  if (rank !== null) parts.push(words.onRank(rank));
  const order = { id: event.command_id, user: user ?? '', client, peer };
  return [{ ...line('command', parts.join(' '), node === null ? null : { node }), order }];
}

export function linesOf(event: ServerEvent, before: Before): Line[] {
  switch (event.type) {
    case 'job':
    case 'state': {
      const { info } = event;
      if (info === null) return [];
      return [
        ...takeOverLines(before.info, info),
        ...rankLines(before.info, info, event),
        ...stateLines(before.info, info, before.reported),
        ...refusalLines(event, before.journal),
      ];
    }
    case 'snapshot': {
      const reported = new Map(event.watchpoints.map((each) => [each.id, each]));
      return event.info === null ? [] : stateLines(before.info, event.info, reported);
    }
    case 'command':
      return commandLines(event);
    case 'watchpoint': {
      const id = event.watchpoint?.id ?? event.id;
      return id === undefined ? [] : watchpointLines(before.reported.get(id), id, event.watchpoint);
    }
    case 'finding': {
      const { rule, step, message, tensor } = event.finding;
      const node = tensor === null ? null : { node: splitTensor(tensor).node };
      return [line('warning', found(rule, step, message), node)];
    }
    case 'log': {
      const kind = event.level === 'error' || event.level === 'warning' ? event.level : 'log';
      const several = (before.info?.world_size ?? 1) > 1 && event.rank !== undefined;
      const text = several ? words.fromRank(event.rank as number, event.message) : event.message;
      return [line(kind, text, several ? { rank: event.rank as number } : null)];
    }
    default:
      return [];
  }
}

// Returns the reported watchpoints after the event.
export function reportedAfter(reported: Before['reported'], event: ServerEvent): Before['reported'] {
  if (event.type === 'snapshot') return new Map(event.watchpoints.map((each) => [each.id, each]));
  if (event.type !== 'watchpoint') return reported;
  const next = new Map(reported);
  const id = event.watchpoint?.id ?? event.id;
  if (event.watchpoint !== null) next.set(event.watchpoint.id, event.watchpoint);
  else if (id !== undefined) next.delete(id);
  return next;
}
