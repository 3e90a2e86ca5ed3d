import { QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Comparison, TensorSummary } from '../api/types';
import { emptyJob } from '../state/job';
import { prepareNames } from '../state/name_search';
import { useJob } from '../state/job_store';
import { createQueryClient, type ValueQuery } from '../state/queries';
import { parseRoute } from '../state/route';
import { useRouter } from '../state/router';
import { useScopes } from '../state/scopes';
import { sampleIndex } from '../testing/sample_index';
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

function show(against: string, query = QUERY, tensor = TENSOR) {
  const parsed = parseRoute(`#/jobs/j?with=${encodeURIComponent(against)}`);
  const route = parsed.view === 'job' ? parsed.route : null;
  render(
    <QueryClientProvider client={createQueryClient()}>
      <JobContext value={{ id: 'j', route, hitIndex: new Map(), trail: new Map(), current: null }}>
        <TensorCompare tensor={tensor} query={query} />
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

const LARGE: TensorSummary = { ...TENSOR, shape: [9000, 8192] };

const counts = { edges: [0, 1, 2], counts: [3, 4], nan_count: 0, pos_inf_count: 0, neg_inf_count: 0 };

function comparison(change: Partial<Comparison>): Comparison {
  const pair = { index: [3, 7], left: 1, right: 1.03 };
  const head = { name: TENSOR.name, node: TENSOR.node, slot: 0, rank: 0, step: 7, dtype: 'float32', shape: [8, 9], overwritten: false };
  return {
    left: head,
    right: { ...head, step: 6 },
    slice: '',
    slice_shape: [8, 9],
    rtol: 1e-5,
    atol: 1e-8,
    count: 72,
    all_close: false,
    equal_count: 60,
    not_close_count: 2,
    non_finite_count: 1,
    left_nan_count: 1,
    right_nan_count: 0,
    both_nan_count: 0,
    max_abs_difference: 0.03,
    max_abs_at: pair,
    mean_abs_difference: 0.01,
    mean_difference: 0.01,
    rms_difference: 0.01,
    max_relative_difference: 0.1,
    max_relative_at: pair,
    cosine: 1,
    max_ulps: 12,
    max_ulps_at: pair,
    ulp_counts: [60, 0, 0, 0, 12],
    first_not_close: pair,
    not_close: [pair],
    histograms: { left: counts, right: counts, difference: counts },
    ...change,
  };
}

// Answers maps and comparisons, and no slices.
function answerLarge(change: Partial<Comparison> = {}) {
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(decodeURIComponent(url));
    if (url.includes('/tensor/compare')) return Response.json(comparison(change));
    if (url.includes('/tensor/map')) {
      const headers = { 'X-Graphdbg-Shape': '5,1,2', 'X-Graphdbg-Grid': '9000,8192', 'X-Graphdbg-Block': '9000,4096', 'X-Graphdbg-Step': '7' };
      return new Response(Float32Array.of(-3, NaN, -3, 1, 2, 2, 0.5, 1, 0, 4).buffer, { headers });
    }
    return Response.json({ runs: [] });
  });
}

it('says how much two tensors differ in a sentence', async () => {
  const at = { index: [3], left: 1, right: 1.03 };
  answerLarge({ slice: '[5, :]', max_abs_at: at });
  show('previous', { ...QUERY, slice: '[5, :]' }, { ...TENSOR, shape: [9, 12] });
  expect(await screen.findByText('2 of 72 not close (2.78 %); largest difference 0.03 at [5, 3]; at most 12 ulp')).not.toBeNull();
});

it('shows a tensor of any size reduced, and its histograms', async () => {
  answerLarge();
  show('previous', { ...QUERY, slice: '[:1000, :1000]' }, LARGE);
  fireEvent.click(screen.getByLabelText('whole tensor'));
  await waitFor(() => expect(screen.getAllByText('[0–8999, 0–4095]: -3 … 2, mean 0.5')).toHaveLength(3));
  expect(screen.getByRole('region', { name: 'difference' })).not.toBeNull();
  // The values of the whole tensor are not asked for.
  expect(asked.some((url) => /\/tensor\?.*slice=&/.test(url))).toBe(false);
  expect(asked.some((url) => url.includes('/tensor/map') && url.includes('of=difference') && url.includes('with=previous'))).toBe(true);
  fireEvent.change(screen.getByLabelText('Show'), { target: { value: 'histograms' } });
  expect(await screen.findByRole('region', { name: 'Histograms of both sides' })).not.toBeNull();
  expect(screen.getByRole('region', { name: 'Histogram of the difference' })).not.toBeNull();
});

it('lists the first elements that are not close, and leads to each', async () => {
  const elements = [{ index: [3], left: 1, right: 1.03 }, { index: [4], left: 'NaN' as const, right: 0 }];
  answerLarge({ slice: '[5, :]', not_close: elements, not_close_count: 7 });
  show('previous', { ...QUERY, slice: '[5, :]' }, { ...TENSOR, shape: [9, 12] });
  fireEvent.change(screen.getByLabelText('Show'), { target: { value: 'elements' } });
  const table = within(await screen.findByRole('table', { name: 'first differences' }));
  expect(table.getByText('The first 2 of 7 elements outside the tolerance')).not.toBeNull();
  const cells = (row: RegExp) => within(table.getByRole('row', { name: row })).getAllByRole('cell').map((cell) => cell.textContent);
  expect(cells(/^\[5, 3\]/)).toEqual(['1.03', '1', '-0.03']);
  expect(cells(/^\[5, 4\]/)).toEqual(['0', 'NaN', '–']);
  expect(table.getAllByRole('columnheader').map((head) => head.textContent)).toEqual(['Element', 'step 6', 'step 7', 'difference']);
  // The values are shown with the element as the active one.
  fireEvent.click(table.getByRole('button', { name: '[5, 4]' }));
  expect((screen.getByLabelText('Show') as HTMLSelectElement).value).toBe('values');
  expect(asked.some((url) => url.includes('/tensor/compare') && url.includes('list=100'))).toBe(true);
});

it('maps the distances in units in the last place', async () => {
  answerLarge();
  show('previous', { ...QUERY, slice: '[:1000, :1000]' }, LARGE);
  fireEvent.change(screen.getByLabelText('Show'), { target: { value: 'ulps' } });
  const map = within(await screen.findByRole('region', { name: 'ULP map' }));
  // 12 of 72 are at 8 to 15 ulp, and none is at more than 12.
  expect(map.getByText('60 of 72 equal; half within 0 ulp, 99 % within 12 ulp')).not.toBeNull();
  expect(await map.findByText(/^\[0–8999, 0–4095\]: -3 … 2 ulp, mean 0\.5$/)).not.toBeNull();
  expect(asked.some((url) => url.includes('/tensor/map') && url.includes('of=ulps') && url.includes('with=previous'))).toBe(true);
});

it('has no distances in units in the last place between different types', async () => {
  answerLarge({ max_ulps: null, max_ulps_at: null, ulp_counts: null });
  show('previous');
  fireEvent.change(screen.getByLabelText('Show'), { target: { value: 'ulps' } });
  expect(await screen.findByText('No distances in ULP')).not.toBeNull();
  expect(asked.some((url) => url.includes('/tensor/map'))).toBe(false);
});

it('offers the same op in other layers, and tensors by parts of their names', async () => {
  answerLarge();
  const nodes = ['m/h/0/mul', 'm/h/1/mul', 'm/h/2/mul', 'm/out'].map((name) => ({ name }));
  const index = sampleIndex(nodes);
  useScopes.setState({ index });
  for (const _ of prepareNames(index)) continue;
  const tensor = { ...TENSOR, name: 'm/h/1/mul:0', node: 'm/h/1/mul' };
  const query = { ...QUERY, name: tensor.name };
  show('tensor:m/h/2/mul:0@6', query, tensor);
  const layers = within(screen.getByLabelText('Layer to compare with')).getAllByRole('option');
  expect(layers.map((each) => each.textContent)).toEqual(['h/0', 'h/2']);
  expect((screen.getByLabelText('Step to compare with') as HTMLSelectElement).value).toBe('6');
  expect(asked.some((url) => url.includes('with=tensor:m/h/2/mul:0@6'))).toBe(true);
});

it('completes names of tensors', () => {
  answerLarge();
  const index = sampleIndex(['m/h/0/mul', 'm/h/1/mul', 'm/out'].map((name) => ({ name })));
  useScopes.setState({ index });
  for (const _ of prepareNames(index)) continue;
  useRouter.setState({ route: parseRoute('#/jobs/j') });
  show('tensor:', QUERY);
  const field = screen.getByRole('combobox', { name: 'Tensor to compare with' });
  fireEvent.change(field, { target: { value: 'h mul' } });
  expect(screen.getAllByRole('option', { name: /mul:0/ }).map((each) => each.textContent)).toEqual(['m/h/0/mul:0', 'm/h/1/mul:0']);
  fireEvent.keyDown(field, { key: 'ArrowDown' });
  fireEvent.keyDown(field, { key: 'ArrowDown' });
  fireEvent.keyDown(field, { key: 'Enter' });
  expect(decodeURIComponent(window.location.hash)).toContain('with=tensor:m/h/1/mul:0');
});
