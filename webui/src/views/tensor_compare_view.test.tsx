import { QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { TensorSummary } from '../api/types';
import { emptyJob } from '../state/job';
import { useJob } from '../state/job_store';
import { createQueryClient, type ValueQuery } from '../state/queries';
import { parseRoute } from '../state/route';
import { sampleJob } from '../testing/samples';
import { JobContext } from './job_context';
import { TensorCompare } from './tensor_compare';

const TENSOR: TensorSummary = {
  name: 'forward/log:0',
  node: 'forward/log',
  role: 'output',
  index: 0,
  slot: 0,
  dtype: 'float32',
  shape: [2],
  statistics: null,
  statistics_step: null,
};
const QUERY: ValueQuery = { job: 'j', name: TENSOR.name, rank: 0, step: null, slice: '[:]', transposed: false, version: '1', enabled: true };

function jobAt(step: number) {
  const job = sampleJob({ step });
  return { ...job, ranks: job.ranks.map((rank) => ({ ...rank, step })) };
}

let asked: string[] = [];

beforeEach(() => {
  asked = [];
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    return Response.json({ status: 404, code: 'value_gone', detail: 'it is gone' }, { status: 404 });
  });
  useJob.setState({ id: 'j', connection: 'live', model: { ...emptyJob(), info: jobAt(7) } });
});
afterEach(() => vi.unstubAllGlobals());

function show(against: string, query = QUERY) {
  const parsed = parseRoute(`#/jobs/j?with=${encodeURIComponent(against)}`);
  const route = parsed.view === 'job' ? parsed.route : null;
  render(
    <QueryClientProvider client={createQueryClient()}>
      <JobContext value={{ id: 'j', route, hitIndex: new Map(), trail: new Map(), current: null }}>
        <TensorCompare tensor={TENSOR} query={query} />
      </JobContext>
    </QueryClientProvider>,
  );
}

const steps = () => within(screen.getByLabelText('Step to compare with')).getAllByRole('option').map((each) => each.textContent);

it('offers only the steps that are kept', async () => {
  show('step:6');
  expect(steps()).toEqual(['step 6']);
  // If that one is not recorded either, recording is offered.
  expect(await screen.findByRole('button', { name: 'Keep previous values' })).not.toBeNull();
});

it('compares the statistics of steps whose values were not recorded, and names the steps that have values', async () => {
  const history = { name: TENSOR.name, points: [], buckets: [], saved_steps: [4, 8, 12, 16] };
  const statistics = (mean: number) => ({ statistics: { count: 2, nan_count: 0, pos_inf_count: 0, neg_inf_count: 1, zero_count: 0, negative_count: 0, positive_count: 1, min: mean, max: mean, mean, abs_mean: mean, abs_max: mean, variance: 0, l1: mean, l2: mean } });
  vi.stubGlobal('fetch', async (url: string) =>
    Response.json(url.includes('/statistics') ? statistics(url.includes('step=3') ? 0.5 : 2) : history));
  show('step:3', { ...QUERY, job: 'runs/r', step: '8' });
  const table = within(await screen.findByRole('table', { name: 'Statistics of both sides' }));
  const row = within(table.getByRole('row', { name: /^mean/ }));
  expect(row.getAllByRole('cell').map((cell) => cell.textContent)).toEqual(['0.5', '2', '1.5']);
  expect(await screen.findByText(/Recorded: steps 4, 12, 16\./)).not.toBeNull();
});

it('suggests alternatives instead of requesting a step that is gone', () => {
  show('step:3');
  expect(screen.getByText('Values of step 3 are not kept')).not.toBeNull();
  expect(screen.getByText(/Compare with step 6\./)).not.toBeNull();
  expect(asked.filter((url) => !url.endsWith('/runs'))).toEqual([]);
});
