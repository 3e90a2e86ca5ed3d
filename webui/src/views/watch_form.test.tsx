import { QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { useJob } from '../state/job_store';
import { createQueryClient } from '../state/queries';
import { jobRoute } from '../state/route';
import { useScopes } from '../state/scopes';
import { openWatchForm, useUi } from '../state/ui';
import { sampleScope, sampleView, sampleWatchpoint } from '../testing/samples';
import { TooltipProvider } from '../widgets/tooltip';
import { JobContext } from './job_context';
import { WatchForm } from './watch_form';

const CONDITIONS = [
  { id: 'overflow', title: 'Has NaN or infinity', target: 'any', params: [] },
  {
    id: 'max_gt',
    title: 'Max above',
    target: 'any',
    params: [{ name: 'value', type: 'number', default: null, unit: null, required: true }],
  },
];

let posted: unknown[] = [];
let refusal: Response | null = null;

beforeEach(() => {
  posted = [];
  refusal = null;
  vi.stubGlobal('fetch', async (address: string, options: RequestInit) => {
    if (address.endsWith('/conditions')) return Response.json({ conditions: CONDITIONS });
    posted.push(JSON.parse(String(options.body)));
    return refusal ?? Response.json(sampleWatchpoint(), { status: 201 });
  });
  useJob.setState({ id: 'j' });
  useScopes.setState({ views: new Map([['', sampleView('', [sampleScope('backward', 2)])]]) });
});
afterEach(() => vi.unstubAllGlobals());

function show(target: string | null) {
  openWatchForm(target);
  const value = {
    id: 'j',
    route: { ...jobRoute('j'), node: 'forward/log' },
    open: new Set<string>(),
    hitIndex: new Map<string, number>(),
    current: null,
  };
  render(
    <QueryClientProvider client={createQueryClient()}>
      <TooltipProvider>
        <JobContext value={value}>
          <WatchForm target={target} />
        </JobContext>
      </TooltipProvider>
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

it('takes a pattern, and says what the server finds wrong with it', async () => {
  const user = show(null);
  await user.selectOptions(await screen.findByLabelText('On'), 'pattern');
  await user.click(add());
  expect(screen.getByRole('alert').textContent).toBe('Give a pattern.');
  await user.type(screen.getByLabelText('Pattern'), 'backward/**');
  refusal = Response.json({ detail: 'no node matches', code: 'bad_pattern' }, { status: 422 });
  await user.click(add());
  await waitFor(() => expect(screen.getByRole('alert').textContent).toBe('no node matches'));
  expect(posted).toMatchObject([{ patterns: ['backward/**'] }]);
});
