import { QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, it, vi } from 'vitest';
import type { Job } from '../api/types';
import { useJob } from '../state/job_store';
import { useSearchText } from '../state/search_text';
import { createQueryClient } from '../state/queries';
import { sampleJob } from '../testing/samples';
import { EndBanner } from './end_banner';

const show = () =>
  render(
    <QueryClientProvider client={createQueryClient()}>
      <EndBanner />
    </QueryClientProvider>,
  );

function textWith(change: Partial<Job>): string | null {
  useJob.setState(({ model }) => ({ model: { ...model, info: sampleJob(change) } }));
  const { unmount } = show();
  const text = screen.queryByRole('note')?.textContent ?? null;
  unmount();
  return text;
}

it('says how a job ended', () => {
  expect(textWith({ state: 'paused' })).toBeNull();
  expect(textWith({ state: 'finished', step: 3, exit_code: 0 })).toMatch(/^The job finished after 3 steps, exit code 0\./);
  expect(textWith({ state: 'finished', step: 3, exit_code: 2 })).toMatch(/^The job failed after 3 steps, exit code 2\./);
  expect(textWith({ state: 'terminated', step: 1 })).toMatch(/^The job was terminated after 1 step\./);
});

it('says nothing about an opened model, which was not run', () => {
  expect(textWith({ state: 'finished', framework: 'onnx', step: 0 })).toBeNull();
});

it('opens the traceback of a job that failed', async () => {
  const exception = { type: 'ValueError', message: 'bad', traceback: 'File "train.py", line 3', node: null };
  useJob.setState(({ model }) => ({ model: { ...model, info: sampleJob({ state: 'finished', exit_code: 1, exception }) } }));
  show();
  expect(screen.queryByLabelText('Traceback')).toBeNull();
  await userEvent.setup().click(screen.getByRole('button', { name: 'Show traceback' }));
  expect((await screen.findByLabelText('Traceback')).textContent).toContain('train.py');
});

it('shows the exception that is about to end a job, and leads from its traceback to nodes', async () => {
  const traceback = 'Traceback:\n  File "/home/user/nets/train.py", line 3, in <module>\n    loss()';
  const exception = { type: 'ValueError', message: 'bad', traceback, node: null };
  const info = sampleJob({ state: 'paused', pause_reason: 'error', exception });
  useJob.setState(({ model }) => ({ model: { ...model, info } }));
  show();
  expect(screen.getByRole('note').textContent).toMatch(/^Paused at an exception: bad \(ValueError\)/);
  const user = userEvent.setup();
  // No op has failed, so the traceback is what there is to see.
  await user.click(await screen.findByRole('button', { name: 'File "/home/user/nets/train.py", line 3' }));
  await user.click(screen.getByRole('button', { name: 'Show ops of this line' }));
  expect(useSearchText.getState().text).toBe('source:nets/train.py:3');
});

it('lets the exception end the program', async () => {
  const exception = { type: 'RuntimeError', message: 'bad', traceback: '', node: 'forward/mm' };
  const [rank] = sampleJob().ranks;
  const ranks = [0, 1].map((number) => ({ ...rank!, rank: number, node: number === 1 ? 'forward/mm' : '' }));
  const info = sampleJob({ state: 'paused', pause_reason: 'error', exception, world_size: 2, ranks });
  const fetched = vi.fn<typeof fetch>(async () => Response.json({ command_id: 'c1' }, { status: 202 }));
  vi.stubGlobal('fetch', fetched);
  useJob.setState(({ model }) => ({ id: 'j', connection: 'live', model: { ...model, info } }));
  show();
  expect(screen.getByRole('note').textContent).toMatch(/^Paused at an exception on rank 1: bad/);
  await userEvent.setup().click(screen.getByRole('button', { name: 'Stop job' }));
  expect(fetched.mock.calls.map(([, options]) => String(options?.body))).toEqual(['{"command":"continue"}']);
  vi.unstubAllGlobals();
});
