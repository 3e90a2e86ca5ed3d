import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ServerEvent } from '../api/types';
import { sampleJob } from '../testing/samples';
import { useAuth } from './auth';
import { emptyJob, reduceEvents } from './job';
import { sendCommand, useJob } from './job_store';
import { useToasts } from './toasts';
import { watchForOverflow } from './watchpoints';

const fetched = vi.fn<typeof fetch>();
// The user who controls the job on the server.
let controller: string;

const sent = () => fetched.mock.calls.map(([url, options]) => `${options?.method} ${String(url).replace('/api/v1/jobs/j', '')}`);

beforeEach(() => {
  controller = 'alice';
  fetched.mockReset().mockImplementation(async (url) => {
    if (String(url).endsWith('/lease')) controller = 'bob';
    else if (controller !== 'bob') {
      return Response.json({ code: 'not_controller', detail: 'alice controls this job' }, { status: 409 });
    }
    return Response.json({ command_id: 'c1' }, { status: 202 });
  });
  vi.stubGlobal('fetch', fetched);
  useAuth.setState({ session: { name: 'bob', role: 'control', expires_at: null } });
  const event: ServerEvent = {
    seq: 1,
    type: 'state',
    job: 'j',
    info: sampleJob({ controller: { name: 'alice', since: '2026-01-01T00:00:00Z' } }),
  };
  useJob.setState({ id: 'j', model: reduceEvents(emptyJob(), [event]), connection: 'live', pending: null });
  useToasts.setState({ toasts: [] });
});
afterEach(() => vi.unstubAllGlobals());

const toast = () => useToasts.getState().toasts.at(-1);

describe('a request that somebody else’s control forbids', () => {
  it('names that user and is sent again after taking over', async () => {
    await sendCommand('step', { steps: 2 });
    expect(toast()).toMatchObject({ title: 'alice controls this job', detail: 'Step was refused.' });
    toast()?.action?.run();
    await vi.waitFor(() => expect(sent()).toEqual(['POST /control', 'POST /lease', 'POST /control']));
    expect(fetched.mock.lastCall?.[1]?.body).toBe(JSON.stringify({ command: 'step', steps: 2 }));
  });

  it('may also be a watchpoint', async () => {
    await watchForOverflow({ kind: 'everything' });
    expect(toast()).toMatchObject({ title: 'alice controls this job', detail: 'Could not add the watchpoint' });
    toast()?.action?.run();
    await vi.waitFor(() => expect(sent().at(-1)).toBe('POST /watchpoints'));
  });

  it('is not repeated if taking over fails', async () => {
    await sendCommand('continue');
    fetched.mockImplementation(async () => Response.json({ code: 'role_too_low', detail: 'not you' }, { status: 403 }));
    toast()?.action?.run();
    await vi.waitFor(() => expect(toast()).toMatchObject({ title: 'Could not take over the control', detail: 'not you' }));
    expect(sent()).toEqual(['POST /control', 'POST /lease']);
  });
});

it('other refusals offer nothing', async () => {
  fetched.mockImplementation(async () => Response.json({ code: 'invalid_state', detail: 'no' }, { status: 409 }));
  await sendCommand('continue');
  expect(toast()?.action).toBeUndefined();
});
