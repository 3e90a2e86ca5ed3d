import { describe, expect, it } from 'vitest';
import type { Rank, ServerEvent } from '../api/types';
import { sampleHit, sampleJob, sampleWatchpoint } from '../testing/samples';
import { emptyJob, MAX_HITS, mergeHits, putHits, putWatchpoint, reduceEvents, reduceJob, type JobModel } from './job';

const base = { seq: 1, job: 'j' };

function state(change: Parameters<typeof sampleJob>[0], more: object = {}): ServerEvent {
  return { ...base, type: 'state', info: sampleJob(change), ...more };
}

function after(...events: ServerEvent[]): JobModel {
  return events.reduce(reduceJob, emptyJob());
}

describe('stops', () => {
  it('are counted when the job stops somewhere else, not when it is told again', () => {
    const start = after(state({}));
    expect(start.stops).toBe(1);
    expect(reduceJob(start, state({})).stops).toBe(1);
    const running = reduceJob(start, state({ state: 'running', pause_reason: null }));
    expect(running.stops).toBe(1);
    expect(reduceJob(running, state({ step: 1 })).stops).toBe(2);
    expect(reduceJob(start, state({ node: 'forward/log' })).stops).toBe(2);
  });
});

describe('many ranks', () => {
  const rank = (number: number, change: object = {}) => ({
    rank: number, host: 'h', pid: number, peer: '', device: 'cpu', device_id: 0,
    state: 'running' as const, step: 1, node: '', ...change,
  });

  it('are kept where an event lists only those that have changed', () => {
    const all = Array.from({ length: 100 }, (_, number) => rank(number));
    const brief = { rank: 70, state: 'paused', step: 2, node: '' } as unknown as Rank;
    const model = after(
      state({ ranks: all, rank_states: { running: 100 } }),
      state({ ranks: [brief], ranks_complete: false, rank_states: { running: 99, paused: 1 } }),
    );
    expect(model.info?.ranks).toHaveLength(100);
    expect(model.info?.ranks[70]).toEqual(rank(70, { state: 'paused', step: 2 }));
    expect(model.info?.rank_states).toEqual({ running: 99, paused: 1 });
    const fewer = reduceJob(model, state({ ranks: [rank(0)] }));
    expect(fewer.info?.ranks).toHaveLength(1);
  });
});

describe('commands', () => {
  it('settle when their event comes', () => {
    const model = after(state({ state: 'running' }, { command_id: 'c7' }));
    expect(model.settled).toContain('c7');
    expect(model.refusal).toBeNull();
  });

  it('that are refused say why', () => {
    const model = after(state({}, { command_id: 'c8', error: 'the job is running' }));
    expect(model.refusal).toEqual({ command_id: 'c8', message: 'the job is running' });
    const next = reduceJob(model, state({}, { command_id: 'c9', error: null }));
    expect(next.refusal).toBeNull();
  });
});

describe('the journal', () => {
  it('has a line for each stop and each change, not for steps that pass by', () => {
    const model = after(
      state({}),
      state({ state: 'running', pause_reason: null, step: 1 }),
      state({ state: 'running', pause_reason: null, step: 2 }),
      { ...base, type: 'watchpoint', watchpoint: sampleWatchpoint() },
      { ...base, type: 'watchpoint', watchpoint: sampleWatchpoint({ hit_count: 3 }) },
      { ...base, type: 'watchpoint', watchpoint: sampleWatchpoint({ enabled: false }) },
      state({ pause_reason: 'watchpoint', step: 2, node: 'forward/log' }),
      state({ step: 2 }, { command_id: 'c', error: 'too late' }),
      { ...base, type: 'log', level: 'warning', message: 'slow' },
    );
    expect(model.journal.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
      'state: Paused before the first step, step 0',
      'watchpoint: Watchpoint 1 set: nan on everything',
      'watchpoint: Watchpoint 1 switched off',
      'state: Paused by a watchpoint, step 2',
      'state: Paused before the first step, step 2',
      'refused: A command was refused: too late',
      'warning: slow',
    ]);
    expect(model.journal[3]?.place).toEqual({ node: 'forward/log' });
    expect(new Set(model.journal.map(({ id }) => id)).size).toBe(7);
  });
});

describe('the journal', () => {
  const texts = (model: JobModel) => model.journal.map(({ kind, text }) => `${kind}: ${text}`);

  it('says who gave a command, and which one was refused', () => {
    const over = { within: null, outside: null, other_line: false };
    const sender = { client: 'graphdbg', peer: '10.0.0.7:41' };
    const command = { command: 'step', steps: 3, node: null, rank: null, ...over, ...sender } as const;
    const model = after(state({}), { ...base, type: 'command', command_id: '7', command }, state({}, { command_id: '7', error: 'too late' }));
    expect(texts(model).slice(1)).toEqual(['command: Step 3', 'refused: Step 3 was refused: too late']);
    expect(model.journal[1]?.order).toEqual({ id: '7', user: '', client: 'graphdbg', peer: '10.0.0.7:41' });
  });

  it('says by which watchpoint a job stopped, whatever answers came ahead of events', () => {
    const watchpoint = sampleWatchpoint({ id: 4 });
    const made = putWatchpoint(after(state({})), watchpoint);
    const model = [
      { ...base, type: 'watchpoint', watchpoint } as const,
      { ...base, type: 'watchpoint', watchpoint: { ...watchpoint, pause: 'step' } } as const,
      state({ pause_reason: 'watchpoint', step: 2, stopped_by: [4] }),
      { ...base, type: 'watchpoint', watchpoint: null, id: 4 } as const,
    ].reduce(reduceJob, made);
    expect(texts(model).slice(1)).toEqual([
      'watchpoint: Watchpoint 4 set: nan on everything',
      'watchpoint: Watchpoint 4 changed: nan on everything',
      'state: Paused by a watchpoint, step 2: 4 nan',
      'watchpoint: Watchpoint 4 deleted: nan on everything',
    ]);
    expect(model.journal[3]?.place).toEqual({ watchpoint: 4 });
  });

  it('says who took over the control, not who has it', () => {
    const by = (name: string) => ({ controller: { name, since: '2026-01-01T00:00:00Z' } });
    const job = (change: object): ServerEvent => ({ ...base, type: 'job', info: sampleJob(change) });
    const model = after(state({}), job(by('bob')), job(by('alice')), job({ controller: null }));
    expect(texts(model).slice(1)).toEqual(['command: alice took over the control']);
  });

  it('says which ranks came and left, and why a job failed', () => {
    const [first] = sampleJob().ranks;
    const two = (change: object) => ({ world_size: 2, ranks: [first!, { ...first!, rank: 1, pid: 43, ...change }] });
    const one = state({ world_size: 2 });
    const joined: ServerEvent = { ...base, rank: 1, type: 'job', info: sampleJob(two({})) };
    const lost = state(two({ state: 'lost' }), { rank: 1 });
    const exception = { type: 'ValueError', message: 'bad', traceback: '', node: 'forward/log' };
    const failed = state({ ...two({ state: 'lost' }), state: 'finished', step: 3, exception });
    const model = after(one, joined, joined, lost, { ...base, rank: 1, type: 'log', level: 'info', message: 'slow' }, failed);
    expect(texts(model).slice(1)).toEqual([
      'rank: Rank 1 connected: process 43 on node7, cpu',
      'rank: Rank 1 reconnected: process 43 on node7, cpu',
      'rank: Rank 1 left: lost, step 0',
      'log: Rank 1: slow',
      'error: Failed, step 3: ValueError: bad',
    ]);
    expect(model.journal.at(-1)?.place).toEqual({ node: 'forward/log' });
  });
});

describe('hits', () => {
  it('of before a snapshot do not come after it', () => {
    const events: ServerEvent[] = [
      { ...base, type: 'hit', hit: sampleHit({ id: 1 }) },
      { ...base, type: 'watchpoint', watchpoint: sampleWatchpoint({ hit_count: 1 }) },
      { ...base, type: 'snapshot', info: sampleJob(), watchpoints: [], hits: [] },
      { ...base, type: 'hit', hit: sampleHit({ id: 2 }) },
    ];
    expect(reduceEvents(emptyJob(), events).hits.map(({ id }) => id)).toEqual([2]);
  });

  it('stand in execution order, however they arrive', () => {
    const hits = [
      sampleHit({ id: 3, step: 2, order: 1 }),
      sampleHit({ id: 1, step: 1, order: 9 }),
      sampleHit({ id: 2, step: 1, order: 4 }),
    ];
    const events: ServerEvent[] = hits.map((hit) => ({ ...base, type: 'hit', hit }));
    expect(reduceEvents(emptyJob(), events).hits.map((hit) => hit.id)).toEqual([2, 1, 3]);
  });

  it('that come twice count once', () => {
    const event: ServerEvent = { ...base, type: 'hit', hit: sampleHit() };
    const model = after(event);
    expect(reduceJob(model, event)).toBe(model);
  });

  it('are capped at the newest', () => {
    const many = Array.from({ length: MAX_HITS + 10 }, (_, i) => sampleHit({ id: i + 1, step: i }));
    const kept = mergeHits([], many);
    expect(kept).toHaveLength(MAX_HITS);
    expect(kept.at(-1)?.id).toBe(MAX_HITS + 10);
    // Hits that were requested are shown too.
    const older = Array.from({ length: 10 }, (_, i) => sampleHit({ id: i + 1, order: i + 1 }));
    expect(putHits({ ...emptyJob(), hits: kept }, older).hits[0]?.id).toBe(1);
  });

  it('of a burst change the model once, between other events in order', () => {
    const burst: ServerEvent[] = Array.from({ length: 100 }, (_, i) => ({
      ...base,
      type: 'hit',
      hit: sampleHit({ id: i + 1, order: i }),
    }));
    const model = reduceEvents(emptyJob(), [...burst, state({ step: 5 })]);
    expect(model.hits).toHaveLength(100);
    expect(model.hit_version).toBe(1);
    expect(model.info?.step).toBe(5);
  });
});

describe('watchpoints', () => {
  const put = (change: Parameters<typeof sampleWatchpoint>[0]): ServerEvent => ({
    ...base,
    type: 'watchpoint',
    watchpoint: sampleWatchpoint(change),
  });

  it('are added, changed and removed by id', () => {
    const model = after(put({ id: 2 }), put({ id: 1 }), put({ id: 2, enabled: false }));
    expect(model.watchpoints.map((w) => [w.id, w.enabled])).toEqual([
      [1, true],
      [2, false],
    ]);
    const removed = reduceJob(model, { ...base, type: 'watchpoint', watchpoint: null, id: 1 });
    expect(removed.watchpoints.map((w) => w.id)).toEqual([2]);
  });
});

describe('a snapshot', () => {
  it('replaces all that was known', () => {
    const before = after(
      { ...base, type: 'hit', hit: sampleHit({ id: 99 }) },
      { ...base, type: 'watchpoint', watchpoint: sampleWatchpoint({ id: 9 }) },
    );
    const model = reduceJob(before, {
      ...base,
      type: 'snapshot',
      info: sampleJob({ step: 3 }),
      watchpoints: [sampleWatchpoint({ id: 1 })],
      hits: [sampleHit({ id: 2, order: 2 }), sampleHit({ id: 1, order: 1 })],
    });
    expect(model.info?.step).toBe(3);
    expect(model.watchpoints.map((w) => w.id)).toEqual([1]);
    expect(model.hits.map((hit) => hit.id)).toEqual([1, 2]);
    expect(model.graph_version).toBeGreaterThan(before.graph_version);
  });
});

it('passes on each message of the job once', () => {
  const log: ServerEvent = { ...base, type: 'log', level: 'warning', message: 'slow' };
  const model = reduceEvents(emptyJob(), [log]);
  expect(model.logs).toEqual([{ level: 'warning', message: 'slow' }]);
  expect(reduceEvents(model, [state({})]).logs).toEqual([]);
});

it('knows a job that was forgotten', () => {
  const model = after(state({}), { ...base, type: 'job', info: null });
  expect(model.forgotten).toBe(true);
});
