import { render, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Watchpoint } from '../api/types';
import { useJob } from '../state/job_store';
import { keepingSpec } from '../state/keeping';
import { sampleJob, sampleWatchpoint } from '../testing/samples';
import { KeepOffer, useKeeper } from './keep_offer';

const KEEPER = sampleWatchpoint({ ...keepingSpec('previous', 'forward/log'), id: 4 });

function Offer() {
  const keeper = useKeeper('previous', 'forward/log');
  return <KeepOffer what="previous" node="forward/log" keeper={keeper} otherwise="Not recorded." />;
}

function have(...watchpoints: Watchpoint[]) {
  useJob.setState(({ model }) => ({ model: { ...model, watchpoints } }));
}

let posted: unknown[] = [];

beforeEach(() => {
  posted = [];
  vi.stubGlobal('fetch', async (_: string, { method, body }: RequestInit) => {
    posted.push({ method, ...JSON.parse(String(body)) });
    return Response.json(KEEPER, { status: 201 });
  });
  useJob.setState(({ model }) => ({ id: 'j', connection: 'live', model: { ...model, info: sampleJob(), watchpoints: [] } }));
});
afterEach(() => vi.unstubAllGlobals());

const label = () => screen.getAllByRole('button').map((each) => each.textContent);

it('makes the watchpoint that keeps it, and then offers the step', async () => {
  render(<Offer />);
  expect(screen.getByText('Not recorded.')).not.toBeNull();
  await userEvent.click(screen.getByRole('button', { name: 'Keep previous values' }));
  expect(posted).toEqual([{ method: 'POST', ...keepingSpec('previous', 'forward/log') }]);
  await screen.findByText(/^Watchpoint 4 keeps previous-step values/);
  expect(label()).toEqual(['Run one step']);
});

it('takes any watchpoint that compares with the step before for one', () => {
  have(sampleWatchpoint({ id: 2 }), sampleWatchpoint({ id: 3, condition: { id: 'tensor_not_changed', params: {} } }));
  render(<Offer />);
  expect(screen.getByText(/^Watchpoint 3 keeps previous-step values/)).not.toBeNull();
});

it('says when what kept it is switched off, or gone', async () => {
  have(KEEPER);
  render(<Offer />);
  have({ ...KEEPER, enabled: false });
  await screen.findByText('Watchpoint 4, which recorded its values, is disabled.');
  await userEvent.click(screen.getByRole('button', { name: 'Enable watchpoint' }));
  expect(posted).toEqual([{ method: 'PATCH', enabled: true }]);
  await screen.findByText(/^Watchpoint 4 keeps previous-step values/);
  have();
  await screen.findByText('Watchpoint 4, which recorded its values, was deleted.');
  expect(label()).toEqual(['Keep previous values']);
});

it('offers nothing once the job has ended', async () => {
  useJob.setState(({ model }) => ({ model: { ...model, info: sampleJob({ state: 'finished' }) } }));
  render(<Offer />);
  await waitFor(() => expect(screen.queryByRole('button')).toBeNull());
});
