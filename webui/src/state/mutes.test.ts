import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Watchpoint } from '../api/types';
import { sampleHit, sampleIncident, sampleJob, sampleWatchpoint } from '../testing/samples';
import { useIncidents } from './incidents';
import { emptyJob } from './job';
import { useJob } from './job_store';
import { muteNode, muteWatchpoints, unmuteAll, watchpointsOf } from './mutes';
import { useToasts } from './toasts';
import { mutedUntil } from './watchpoints';

const incident = sampleIncident({ id: 11, node: 'forward/mul', watchpoint: 1 });

// What the server has, which is what it has been sent.
let changes: Array<[string, unknown]> = [];
let refuses = false;

beforeEach(() => {
  changes = [];
  refuses = false;
  vi.stubGlobal('fetch', async (address: string, options: RequestInit) => {
    const change = JSON.parse(String(options.body)) as Partial<Watchpoint>;
    if (refuses) return Response.json({ code: 'unknown_field', detail: 'exclude is unknown' }, { status: 422 });
    changes.push([String(address).split('/').at(-1) ?? '', change]);
    return Response.json({ ...sampleWatchpoint({ id: 1 }), ...change });
  });
  const hits = [sampleHit({ id: 11, node: 'forward/mul', watchpoint: 1 }), sampleHit({ id: 12, node: 'forward/add', watchpoint: 2 })];
  const watchpoints = [sampleWatchpoint({ id: 1, nodes: [], scopes: ['forward'] }), sampleWatchpoint({ id: 2 })];
  useJob.setState({ id: 'j', model: { ...emptyJob(), info: sampleJob({ step: 3 }), hits, watchpoints } });
});
afterEach(() => {
  vi.unstubAllGlobals();
  useIncidents.setState({ muted: new Set() });
  useToasts.setState({ toasts: [] });
});

it('leaves a node out of the watchpoints that have stopped there, until it is shown again', async () => {
  await muteNode(incident);
  expect(changes).toEqual([['1', { exclude: { nodes: ['forward/mul'] } }]]);
  expect(useIncidents.getState().muted.has('forward/mul')).toBe(true);
  await unmuteAll();
  expect(changes.at(-1)).toEqual(['1', { exclude: { nodes: [] } }]);
  expect(useIncidents.getState().muted.size).toBe(0);
});

it('turns a watchpoint off that would have no node left', async () => {
  useJob.setState(({ model }) => ({
    model: { ...model, watchpoints: [sampleWatchpoint({ id: 1, nodes: ['forward/mul'], scopes: [], patterns: [], categories: [] })] },
  }));
  await muteNode(incident);
  expect(changes).toEqual([['1', { enabled: false }]]);
});

it('says that an incident is only hidden where the server knows no better', async () => {
  refuses = true;
  await muteNode(incident);
  expect(useToasts.getState().toasts[0]?.title).toContain('only hidden');
});

it('mutes the watchpoints of an incident until a step, and no longer', async () => {
  useJob.setState(({ model }) => ({
    model: { ...model, hits: [...model.hits, sampleHit({ id: 13, node: 'forward/mul', watchpoint: 2 })] },
  }));
  expect(watchpointsOf(incident)).toEqual([1, 2]);
  await muteWatchpoints([1, 2], 5);
  expect(changes).toEqual([
    ['1', { muted_until_step: 5 }],
    ['2', { muted_until_step: 5 }],
  ]);
  const muted = sampleWatchpoint({ muted_until_step: 5 });
  expect([3, 4, 5].map((step) => mutedUntil(muted, step))).toEqual([5, 5, null]);
});
