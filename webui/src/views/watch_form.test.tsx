import { QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { useJob } from '../state/job_store';
import { createQueryClient } from '../state/queries';
import { jobRoute } from '../state/route';
import { useScopes } from '../state/scopes';
import { copyWatchpoint, editWatchpoint, openWatchForm, useUi, type WatchFormState } from '../state/ui';
import { sampleCondition, sampleJob, sampleParam, sampleScope, sampleView, sampleWatchpoint } from '../testing/samples';
import { JobContext } from './job_context';
import { WatchForm } from './watch_form';

const CONDITIONS = [
  sampleCondition({ id: 'overflow' }),
  sampleCondition({ id: 'max_gt', params: [sampleParam('value', { required: true })] }),
  sampleCondition({
    id: 'weight_initialization',
    target: 'weight',
    params: [
      sampleParam('zero_percentage_ge', { tested: true, default: 100, unit: 'percent' }),
      sampleParam('max_gt', { tested: true }),
      sampleParam('strict', { type: 'bool', default: false, advanced: true }),
    ],
  }),
  sampleCondition({
    id: 'expression',
    params: [sampleParam('expression', { type: 'expression', required: true })],
  }),
  sampleCondition({
    id: 'gradient_vanishing',
    target: 'gradient',
    params: [
      sampleParam('abs_mean_lt', { title: 'mean |x|', tested: true, suggested: 1e-9 }),
      sampleParam('max_lt', { tested: true }),
    ],
  }),
  sampleCondition({ id: 'operator_overflow', backends: ['ascend'] }),
  sampleCondition({ id: 'loss_detached', title: 'Loss without gradient', target: 'training' }),
];
const MEASURES = [{ name: 'abs_max', title: 'largest absolute value' }];

let posted: unknown[] = [];
let refusal: Response | null = null;
// In milliseconds.
let stepTimes: number[] = [];

const stepOf = (duration_ms: number, i: number) => ({ step: i + 1, mode: 'train', time: 0, duration_ms, measuring_ms: 1, has_loss: false, loss: null });

beforeEach(() => {
  posted = [];
  refusal = null;
  stepTimes = [];
  vi.stubGlobal('fetch', async (address: string, options: RequestInit) => {
    if (address.endsWith('/conditions')) return Response.json({ conditions: CONDITIONS, measures: MEASURES });
    if (address.endsWith('/preview')) return Response.json({ node_count: 132, tensors: 140, bytes: 12 << 20, seconds_per_step: 0.0022, examples: [] });
    if (address.includes('/overview?')) return Response.json({ rank: 0, ranks: [0], modules: [], steps: stepTimes.map(stepOf) });
    posted.push({ method: options.method, ...JSON.parse(String(options.body)) });
    return refusal ?? Response.json(sampleWatchpoint(), { status: 201 });
  });
  useJob.setState({ id: 'j', connection: 'live' });
  useScopes.setState({ views: new Map([['', sampleView('', [sampleScope('backward', 2)])]]) });
});
afterEach(() => vi.unstubAllGlobals());

function show(target: string | null) {
  openWatchForm(target);
  return showForm();
}

function showForm() {
  const value = {
    id: 'j',
    route: { ...jobRoute('j'), node: 'forward/log' },
    hitIndex: new Map<string, number>(),
    trail: new Map(),
    current: null,
  };
  render(
    <QueryClientProvider client={createQueryClient()}>
      <JobContext value={value}>
        <WatchForm form={useUi.getState().watch_form as WatchFormState} />
      </JobContext>
    </QueryClientProvider>,
  );
  return userEvent.setup();
}

const add = () => screen.getByRole('button', { name: 'Add' });

it('watches everything for NaN and infinity unless told otherwise', async () => {
  const user = show(null);
  await user.click(await screen.findByRole('button', { name: 'Add' }));
  expect(posted).toMatchObject([
    { condition: { id: 'overflow', params: {} }, nodes: [], scopes: [], patterns: [], pause: 'node' },
  ]);
  await waitFor(() => expect(useUi.getState().watch_form).toBeNull());
});

it('takes a scope for a scope', async () => {
  const user = show('backward');
  await screen.findByRole('button', { name: 'Add' });
  await user.click(add());
  expect(posted).toMatchObject([{ scopes: ['backward'], nodes: [] }]);
});

it('asks for the numbers that a condition needs', async () => {
  const user = show(null);
  await user.selectOptions(await screen.findByLabelText('When'), 'max_gt');
  await user.click(add());
  expect(screen.getByRole('alert').textContent).toBe('value must be a number.');
  expect(posted).toEqual([]);
  await user.type(screen.getByLabelText('value'), '1e3');
  await user.click(add());
  expect(posted).toMatchObject([{ condition: { id: 'max_gt', params: { value: 1000 } } }]);
});

it('offers the overflow flag where a rank is on a device that has one', async () => {
  const [rank] = sampleJob().ranks;
  const info = sampleJob({ ranks: [{ ...rank!, device: 'npu' }] });
  useJob.setState(({ model }) => ({ model: { ...model, info } }));
  show(null);
  const when = await screen.findByLabelText('When');
  expect(within(when).getByRole('option', { name: 'operator_overflow' })).not.toBeNull();
  useJob.setState(({ model }) => ({ model: { ...model, info: null } }));
});

it('offers what can be checked here, with its defaults and units', async () => {
  const user = show(null);
  const when = await screen.findByLabelText('When');
  expect(within(when).queryByRole('option', { name: 'operator_overflow' })).toBeNull();
  await user.selectOptions(when, 'weight_initialization');
  expect(screen.getByRole('option', { name: 'all weights' })).not.toBeNull();
  expect(screen.getByText('%')).not.toBeNull();
  await user.click(screen.getByLabelText('strict'));
  await user.click(add());
  expect(posted).toMatchObject([
    { condition: { params: { zero_percentage_ge: 100, strict: true } } },
  ]);
});

it('wants at least one of the numbers that are tested', async () => {
  const user = show(null);
  await user.selectOptions(await screen.findByLabelText('When'), 'weight_initialization');
  await user.clear(screen.getByLabelText('zero_percentage ≥'));
  await user.click(add());
  expect(screen.getByRole('alert').textContent).toBe(
    'Enter a number for at least one of zero_percentage ≥, max >.',
  );
  expect(posted).toEqual([]);
});

it('begins with values that make sense, on all that it is about', async () => {
  const user = show('backward');
  await user.selectOptions(await screen.findByLabelText('When'), 'gradient_vanishing');
  expect((screen.getByLabelText('mean |x| <') as HTMLInputElement).value).toBe('1e-9');
  await user.click(add());
  expect(posted).toMatchObject([{ condition: { params: { abs_mean_lt: 1e-9 } }, scopes: [], categories: [] }]);
});

it('stays on what the user chose', async () => {
  const user = show('backward');
  await user.selectOptions(await screen.findByLabelText('On'), 'selection');
  await user.selectOptions(screen.getByLabelText('When'), 'gradient_vanishing');
  await user.click(add());
  expect(posted).toMatchObject([{ scopes: ['backward'] }]);
});

it('marks the column at which an expression is wrong', async () => {
  const user = show(null);
  await user.selectOptions(await screen.findByLabelText('When'), 'expression');
  await user.type(screen.getByLabelText('expression'), 'absmax > 1');
  const field = 'condition.params.expression';
  refusal = Response.json(
    { detail: `${field}: column 1: there is no "absmax"`, code: 'invalid_condition', field, column: 1 },
    { status: 422 },
  );
  await user.click(add());
  await waitFor(() =>
    expect(screen.getByRole('alert').textContent).toBe('column 1: there is no "absmax"'),
  );
  expect(document.querySelector('.expression-mark')?.textContent).toBe('absmax > 1\n^');
  expect(screen.getByText('largest absolute value')).not.toBeNull();
  expect(posted).toMatchObject([{ condition: { params: { expression: 'absmax > 1' } } }]);
});

it('takes a pattern, and says what the server finds wrong with it', async () => {
  const user = show(null);
  await user.selectOptions(await screen.findByLabelText('On'), 'pattern');
  await user.click(add());
  expect(screen.getByRole('alert').textContent).toBe('Enter a pattern.');
  await user.type(screen.getByLabelText('Pattern'), 'backward/**');
  refusal = Response.json({ detail: 'no node matches', code: 'bad_pattern' }, { status: 422 });
  await user.click(add());
  await waitFor(() => expect(screen.getByRole('alert').textContent).toBe('no node matches'));
  expect(posted).toMatchObject([{ patterns: ['backward/**'] }]);
});

it('says how many nodes are meant', async () => {
  show('backward');
  await waitFor(() =>
    expect(screen.getByRole('status', { name: 'Matching nodes' }).textContent).toBe(
      '132 nodes, 12 MiB per step, about +2.2 ms per step',
    ),
  );
});

it('compares the cost with the time of a step, however long the job was stopped within one', async () => {
  stepTimes = [23, 21, 45_000];
  show('backward');
  await waitFor(() =>
    expect(screen.getByRole('status', { name: 'Matching nodes' }).textContent).toBe(
      '132 nodes, 12 MiB per step, about +2.2 ms per step (+10 %)',
    ),
  );
});

it('changes a watchpoint, with what it has in the fields', async () => {
  editWatchpoint(
    sampleWatchpoint({
      id: 7,
      condition: { id: 'max_gt', params: { value: 50 } },
      scopes: ['forward/fc1', 'forward/fc2'],
      pause: 'step',
    }),
  );
  const user = showForm();
  const value = await screen.findByLabelText('value');
  expect((value as HTMLInputElement).value).toBe('50');
  await user.clear(value);
  await user.type(value, '60');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  expect(posted).toMatchObject([
    {
      method: 'PATCH',
      condition: { id: 'max_gt', params: { value: 60 } },
      scopes: ['forward/fc1', 'forward/fc2'],
      pause: 'step',
    },
  ]);
  // A disabled watchpoint stays disabled.
  expect(posted[0]).not.toHaveProperty('enabled');
});

it('copies a watchpoint to a new one, for another kind of tensor', async () => {
  copyWatchpoint(sampleWatchpoint({ condition: { id: 'max_gt', params: { value: 50 } } }));
  const user = showForm();
  await user.selectOptions(await screen.findByLabelText('On'), 'gradient');
  await user.click(add());
  expect(posted).toMatchObject([
    { method: 'POST', condition: { id: 'max_gt', params: { value: 50 } }, categories: ['gradient'] },
  ]);
});

it('narrows a selection, and leaves out what is named', async () => {
  const user = show('backward');
  await user.click(await screen.findByText('More…'));
  fireEvent.change(screen.getByLabelText('Only op types'), { target: { value: 'addmm, mm' } });
  fireEvent.change(screen.getByLabelText('Only lines'), { target: { value: 'model.py:32' } });
  fireEvent.change(screen.getByLabelText('Name matches'), { target: { value: '/fc1|fc2/' } });
  fireEvent.change(screen.getByLabelText('Except'), { target: { value: 'type:relu aux/ **/head dtype:float64 rank:1' } });
  await user.click(add());
  expect(posted).toMatchObject([
    {
      scopes: ['backward'],
      op_types: ['addmm', 'mm'],
      sources: ['model.py:32'],
      regexes: ['fc1|fc2'],
      exclude: { op_types: ['relu'], scopes: ['aux'], patterns: ['**/head'], dtypes: ['float64'], ranks: [1] },
    },
  ]);
  expect(posted[0]).not.toHaveProperty('dtypes');
});

it('says which rank is none, and asks for ranks only where there are several', async () => {
  const user = show(null);
  await user.click(await screen.findByText('More…'));
  expect(screen.queryByLabelText('Only ranks')).toBeNull();
  fireEvent.change(screen.getByLabelText('Except'), { target: { value: 'rank:first' } });
  await user.click(add());
  expect(screen.getByRole('alert').textContent).toBe('"first" is no rank.');
  expect(posted).toEqual([]);
});

it('keeps and empties the lists of an edited watchpoint', async () => {
  editWatchpoint(
    sampleWatchpoint({ id: 3, scopes: ['forward'], op_types: ['relu'], exclude: { nodes: ['forward/a'], categories: ['weight'] } }),
  );
  const user = showForm();
  const types = await screen.findByLabelText<HTMLInputElement>('Only op types');
  expect(types.value).toBe('relu');
  await user.clear(types);
  await user.click(screen.getByRole('button', { name: 'Save' }));
  expect(posted).toMatchObject([
    { scopes: ['forward'], op_types: [], exclude: { nodes: ['forward/a'], categories: ['weight'] } },
  ]);
});

it('says which hits count', async () => {
  const user = show(null);
  await user.click(await screen.findByText('More…'));
  fireEvent.change(screen.getByLabelText('Ignore first'), { target: { value: '3 hits' } });
  await user.click(screen.getByLabelText('Once'));
  await user.click(add());
  expect(posted).toMatchObject([{ ignore_count: 3, once: true }]);
});

it.each([
  ['pytorch', true],
  ['xgboost', false],
])('offers conditions of training in programs that test them: %s', async (framework, offered) => {
  useJob.setState((state) => ({ model: { ...state.model, info: sampleJob({ framework }) } }));
  show(null);
  await screen.findByRole('option', { name: 'overflow' });
  expect(screen.queryByRole('option', { name: 'Loss without gradient' }) !== null).toBe(offered);
  expect(screen.queryByText('1 condition is not offered: only PyTorch programs test it.') !== null).toBe(!offered);
});

it('says why conditions are left out that a framework has nothing for', async () => {
  useJob.setState((state) => ({ model: { ...state.model, info: sampleJob({ framework: 'lightgbm' }) } }));
  show(null);
  await screen.findByRole('option', { name: 'overflow' });
  expect(screen.getByText(/not offered: boosted trees have no weights\./)).toBeTruthy();
});
