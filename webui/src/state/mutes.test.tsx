import { act, renderHook, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Watchpoint } from '../api/types';
import { sampleHit, sampleIncident, sampleJob, sampleWatchpoint } from '../testing/samples';
import { useIncidents } from './incidents';
import { emptyJob } from './job';
import { useJob } from './job_store';
import { muteNode, muteWatchpoint, unmuteAll, useMuted, useMutedWatchpoints } from './mutes';
import { useToasts } from './toasts';

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
  useMuted.setState({ list: [] });
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

it('turns a muted watchpoint on again at its step', async () => {
  renderHook(() => useMutedWatchpoints());
  await act(() => muteWatchpoint(1, 5));
  expect(changes).toEqual([['1', { enabled: false }]]);
  const reach = (step: number) => act(() => useJob.setState(({ model }) => ({ model: { ...model, info: sampleJob({ step }) } })));
  reach(4);
  expect(changes).toHaveLength(1);
  reach(5);
  await waitFor(() => expect(changes.at(-1)).toEqual(['1', { enabled: true }]));
  reach(6);
  expect(changes).toHaveLength(2);
});
