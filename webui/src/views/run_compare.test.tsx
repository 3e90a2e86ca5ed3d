import { QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, within } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { CallDifference, ComparedInput, Difference, Divergence } from '../api/types';
import { emptyJob } from '../state/job';
import { useJob } from '../state/job_store';
import { createQueryClient } from '../state/queries';
import { parseRoute } from '../state/route';
import { navigate } from '../state/router';
import { JobContext } from './job_context';
import { RunCompare } from './run_compare';

const AGREES: Divergence = {
  steps: 8,
  matched: 3,
  only_here: [],
  only_there: [],
  only_here_count: 0,
  only_there_count: 0,
  first: null,
  next: [],
  renamings: [],
};
const DIFFERENCE: Difference = {
  step: 5,
  mode: 'train',
  pass: 1,
  node: 'forward/log',
  there_node: 'forward/log',
  slot: 0,
  exec_order: 2,
  measure: 'max',
  here: 1,
  there: 'Infinity',
  inputs: [],
  calls: [],
};
const run = (id: string, ranks: number) => ({ id, ranks: Array.from({ length: ranks }, (_, rank) => ({ rank })) });

let answer: Divergence = AGREES;
let runs: unknown[] = [];
let asked: string[] = [];

beforeEach(() => {
  asked = [];
  answer = AGREES;
  runs = [run('good', 2), run('bad', 1)];
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    return Response.json(url.endsWith('/runs') ? { runs } : answer);
  });
  useJob.setState({ id: 'runs/good', connection: 'live', model: emptyJob() });
  navigate(parseRoute('#/runs/good'), 'replace');
});
afterEach(() => vi.unstubAllGlobals());

function show() {
  const parsed = parseRoute('#/runs/good');
  const route = parsed.view === 'job' ? parsed.route : null;
  render(
    <QueryClientProvider client={createQueryClient()}>
      <JobContext value={{ id: 'runs/good', route, hitIndex: new Map(), trail: new Map(), current: null }}>
        <RunCompare />
      </JobContext>
    </QueryClientProvider>,
  );
}

const choose = async (value: string) => fireEvent.change(await screen.findByLabelText('Compare with the run'), { target: { value } });
const comparisons = () => asked.filter((url) => url.includes('/divergence'));

it('leads to the first tensor that differs from another run', async () => {
  answer = { ...AGREES, first: DIFFERENCE, next: [{ ...DIFFERENCE, step: 6 }], only_there_count: 2, only_there: ['a:0', 'b:0'] };
  show();
  await choose('bad');
  const row = within(await screen.findByRole('list', { name: 'First difference' })).getByRole('button');
  expect(row.textContent).toContain('step 5');
  expect(row.textContent).toContain('max 1, there Infinity');
  expect(comparisons()[0]).toMatch(/\/runs\/good\/divergence\?rank=0&with=bad%3A0$/);
  expect(screen.getByText('0 tensors only here, 2 only there')).not.toBeNull();
  fireEvent.click(row);
  expect(window.location.hash).toContain('step=5');
  expect(window.location.hash).toContain('node=forward/log');
});

it('keeps the comparison in the address', async () => {
  show();
  await choose('good');
  expect(window.location.hash).toBe('#/runs/good?compare=good');
  await choose('');
  expect(window.location.hash).toBe('#/runs/good');
  navigate(parseRoute('#/runs/good?compare=bad:0'), 'replace');
  expect(await screen.findByText('3 tensors in 8 steps agree')).not.toBeNull();
  expect(comparisons().at(-1)).toContain('with=bad%3A0');
});

it('compares within a tolerance and under other names, which the address keeps', async () => {
  show();
  await choose('bad');
  await screen.findByText('3 tensors in 8 steps agree');
  fireEvent.change(screen.getByLabelText('Relative tolerance'), { target: { value: '0.001' } });
  fireEvent.change(screen.getByLabelText('Renamed (OLD=NEW, …)'), { target: { value: 'a=b/a' } });
  fireEvent.click(screen.getByRole('button', { name: 'Compare again' }));
  await vi.waitFor(() => expect(comparisons()).toHaveLength(2));
  expect(comparisons()[1]).toContain('rtol=0.001');
  expect(decodeURIComponent(comparisons()[1] as string)).toContain('map=a=b/a');
  expect(window.location.hash).toContain('terms=');
  await choose('');
  expect(window.location.hash).toBe('#/runs/good');
});

it('shows whether the inputs were still equal, and leads to both graphs', async () => {
  const input = (node: string, state: ComparedInput['state']): ComparedInput => ({ node, there_node: null, slot: 0, state, measure: null, here: null, there: null });
  answer = { ...AGREES, renamings: [{ from: 'forward', to: 'net', nodes: 3 }], first: { ...DIFFERENCE, there_node: 'net/log', inputs: [input('forward/x', 'equal'), input('forward/w', 'not_recorded')] } };
  show();
  await choose('bad');
  expect(await screen.findByText('its input is still equal · not recorded: forward/w:0')).not.toBeNull();
  expect(screen.getByText('there net/log')).not.toBeNull();
  expect(screen.getByText('forward → net (3 nodes)')).not.toBeNull();
  fireEvent.click(screen.getByRole('button', { name: 'Show both graphs' }));
  expect(window.location.hash).toContain('beside=1');
  expect(window.location.hash).toContain('node=forward/log');
});

it('names what the two sides call differently, instead of an input that only one of them changes', async () => {
  const gradient: ComparedInput = { node: 'backward/mm', there_node: 'backward/mm', slot: 0, state: 'equal', measure: null, here: null, there: null };
  const calls: CallDifference[] = [
    { what: 'attribute', subject: 'beta', here: '0.9', there: null },
    { what: 'input', subject: '1', here: 'forward/a:0', there: 'forward/b:0' },
    { what: 'in_place', subject: 'backward/mm:0', here: null, there: 'forward/mul_ (train.py:7)' },
  ];
  answer = { ...AGREES, first: { ...DIFFERENCE, inputs: [gradient], calls } };
  show();
  await choose('bad');
  const list = within(await screen.findByRole('list', { name: 'First difference' }));
  expect(list.getByText('called with beta 0.9, there none')).not.toBeNull();
  expect(list.getByText('reads forward/a:0, there forward/b:0')).not.toBeNull();
  expect(list.getByText('only there, backward/mm:0 is changed in place before, by forward/mul_ (train.py:7)')).not.toBeNull();
  expect(list.queryByText(/still equal/)).toBeNull();
});

it('compares with another rank of the same run', async () => {
  show();
  await choose('good');
  expect(await screen.findByText('3 tensors in 8 steps agree')).not.toBeNull();
  expect(within(screen.getByLabelText('Rank to compare with')).getAllByRole('option').map((each) => each.textContent)).toEqual(['rank 1']);
  expect(comparisons()[0]).toContain('with=good%3A1');
});

it('says so if nothing can be compared', async () => {
  answer = { ...AGREES, matched: 0, steps: 0 };
  show();
  await choose('bad');
  expect(await screen.findByText('No tensor was recorded on both sides in the same step.')).not.toBeNull();
});

it('is not there for the only rank of the only run', async () => {
  runs = [run('good', 1)];
  show();
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  expect(screen.queryByLabelText('Compare')).toBeNull();
});
