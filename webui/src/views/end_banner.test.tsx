import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, it } from 'vitest';
import type { Job } from '../api/types';
import { useJob } from '../state/job_store';
import { useSearchText } from '../state/search_text';
import { sampleJob } from '../testing/samples';
import { EndBanner } from './end_banner';

function textWith(change: Partial<Job>): string | null {
  useJob.setState(({ model }) => ({ model: { ...model, info: sampleJob(change) } }));
  const { unmount } = render(<EndBanner />);
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
  render(<EndBanner />);
  expect(screen.queryByLabelText('Traceback')).toBeNull();
  await userEvent.setup().click(screen.getByRole('button', { name: 'Show traceback' }));
  expect(screen.getByLabelText('Traceback').textContent).toContain('train.py');
});

it('shows the exception that is about to end a job, and leads from its traceback to nodes', async () => {
  const traceback = 'Traceback:\n  File "/home/user/nets/train.py", line 3, in <module>\n    loss()';
  const exception = { type: 'ValueError', message: 'bad', traceback, node: null };
  const info = sampleJob({ state: 'paused', pause_reason: 'error', exception });
  useJob.setState(({ model }) => ({ model: { ...model, info } }));
  render(<EndBanner />);
  expect(screen.getByRole('note').textContent).toMatch(/^Paused at an exception\. ValueError: bad/);
  const user = userEvent.setup();
  await user.click(screen.getByRole('button', { name: 'Show traceback' }));
  await user.click(screen.getByRole('button', { name: 'File "/home/user/nets/train.py", line 3' }));
  expect(useSearchText.getState().text).toBe('source:nets/train.py:3');
});
