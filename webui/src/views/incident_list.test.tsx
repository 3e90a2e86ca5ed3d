import { QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, fireEvent, render, screen, within } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Hit, Incident } from '../api/types';
import { goToNextIncident, incidentOfStop, loadIncidents, useIncidents } from '../state/incidents';
import { emptyJob } from '../state/job';
import { useJob } from '../state/job_store';
import { createQueryClient } from '../state/queries';
import { parseRoute } from '../state/route';
import { navigate, useRouter } from '../state/router';
import { selectNode } from '../state/scopes';
import { NO_FILTER, useUi } from '../state/ui';
import { sampleHit, sampleIncident, sampleJob } from '../testing/samples';
import { stepsOf } from '../words/incidents';
import { HitsPanel } from './hits_panel';

const passedOn = sampleHit({ id: 12, node: 'forward/add', origin: 'propagated' });
const incidents: Incident[] = [
  sampleIncident({ id: 11, node: 'forward/mul' }, { first_rank: 1, ranks: [0, 1], reached_count: 989, first_reached: passedOn }),
  sampleIncident({ id: 20, node: 'forward/relu' }, { diagnosis: { title: null, text: null } }),
];

let hitsOf: Record<string, Hit[]> = {};

beforeEach(() => {
  hitsOf = { '11': [incidents[0]!.origin, passedOn], '20': [incidents[1]!.origin] };
  vi.stubGlobal('fetch', async (address: string) => {
    const url = new URL(address, 'http://server');
    if (url.pathname.endsWith('/incidents')) return Response.json({ incidents, total: 2 });
    if (url.pathname.endsWith('/findings')) return Response.json({ findings: [], total: 0 });
    return Response.json({ hits: hitsOf[url.searchParams.get('incident') ?? ''] ?? [], next_cursor: null });
  });
  navigate(parseRoute('#/jobs/j'));
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  useIncidents.setState({ job: null, incidents: null, total: 0, muted: new Set() });
  useUi.setState({ all_hits: false, hit: null, hit_filter: NO_FILTER });
});

async function show(): Promise<void> {
  const [rank] = sampleJob().ranks;
  const info = sampleJob({ hit_count: 3, world_size: 2, ranks: [0, 1].map((number) => ({ ...rank!, rank: number })) });
  useJob.setState({ id: 'j', model: { ...emptyJob(), info, hits: Object.values(hitsOf).flat(), hit_version: 1 } });
  render(
    <QueryClientProvider client={createQueryClient()}>
      <HitsPanel />
    </QueryClientProvider>,
  );
  await screen.findByRole('list', { name: 'Incidents' }, { timeout: 10_000 });
}

const cards = () => within(screen.getByRole('list', { name: 'Incidents' })).getAllByRole('listitem');

it('shows what happened, where, when and how far it has spread', async () => {
  await show();
  const [first, second] = cards();
  expect(first!.textContent).toContain('Overflow in float16');
  expect(first!.textContent).toContain('forward/mul');
  expect(first!.textContent).toContain('Input reaches 12,032; × 8 = 96,256 > 65,504.');
  expect(first!.textContent).toContain('steps 1 to 3, each step');
  expect(first!.textContent).toContain('reached 989 tensors, first add');
  expect(within(first!).getByRole('img', { name: 'On ranks 0, 1; began on rank 1' })).not.toBeNull();
  // Without a cause, the condition stands for it.
  expect(second!.textContent).toContain('inf');
});

it('unfolds to the hits of one incident, the newest first', async () => {
  await show();
  const open = () => within(screen.getByRole('listbox', { name: 'Hits' })).getAllByRole('option');
  await screen.findByRole('listbox', { name: 'Hits' });
  expect(open()).toHaveLength(1);
  fireEvent.click(within(cards()[0]!).getByRole('button', { name: 'Show its hits' }));
  await within(cards()[0]!).findByRole('listbox', { name: 'Hits' });
  expect(open()).toHaveLength(2);
  fireEvent.click(open()[1]!);
  expect(useUi.getState().hit).toBe(12);
  fireEvent.keyDown(screen.getByRole('listbox', { name: 'Hits' }), { key: 'ArrowUp' });
  expect(useUi.getState().hit).toBe(11);
});

it('is returned to by N from elsewhere, also if it is the last one', async () => {
  await show();
  act(() => void goToNextIncident(1));
  act(() => void goToNextIncident(1));
  const { route } = useRouter.getState();
  act(() => selectNode('forward/elsewhere'));
  act(() => void goToNextIncident(1));
  expect(useRouter.getState().route).toEqual(route);
});

it('mutes a node, which N then skips', async () => {
  await show();
  act(() => void goToNextIncident(1));
  expect(useUi.getState().hit).toBe(11);
  act(() => void goToNextIncident(1));
  expect(useUi.getState().hit).toBe(20);
  fireEvent.click(within(cards()[0]!).getByRole('button', { name: 'Mute' }));
  fireEvent.click(screen.getByRole('menuitem', { name: 'Mute this node' }));
  expect(cards()).toHaveLength(1);
  act(() => void goToNextIncident(-1));
  expect(useUi.getState().hit).toBe(20);
  fireEvent.click(screen.getByRole('button', { name: 'Show 1 muted' }));
  expect(cards()).toHaveLength(2);
});

it('gives way to the list of all hits, also for a filter', async () => {
  await show();
  fireEvent.click(screen.getByRole('button', { name: 'All hits' }));
  expect(screen.queryByRole('list', { name: 'Incidents' })).toBeNull();
  expect(screen.getByRole('group', { name: 'Filter hits' })).not.toBeNull();
});

it('goes to the rank of the origin', async () => {
  incidents[0]!.origin.rank = 1;
  await show();
  fireEvent.click(within(cards()[0]!).getByText('Overflow in float16'));
  const { route } = useRouter.getState();
  expect(route.view === 'job' && [route.route.node, route.route.rank]).toEqual(['forward/mul', 1]);
});

it('is found for the hit that has paused the job', async () => {
  const hits = [incidents[0]!.origin, passedOn];
  const info = sampleJob({ state: 'paused', pause_reason: 'watchpoint', stopped_by: [1], step: 1, node: 'forward/add' });
  expect(incidentOfStop({ info, hits }, incidents)?.id).toBe(11);
  expect(incidentOfStop({ info: { ...info, pause_reason: 'user' }, hits }, incidents)).toBeNull();
});

it('are forgotten with the job', async () => {
  await loadIncidents('j');
  expect(useIncidents.getState().total).toBe(2);
  await loadIncidents(null);
  expect(useIncidents.getState().incidents).toBeNull();
});

it('names steps', () => {
  expect(stepsOf([{ first: 3, last: 3 }])).toBe('step 3');
  expect(stepsOf([{ first: 1, last: 3 }])).toBe('steps 1 to 3, each step');
  expect(stepsOf([{ first: 1, last: 1 }, { first: 4, last: 6 }])).toBe('steps 1, 4 to 6');
});
