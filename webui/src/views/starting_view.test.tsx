import { act, cleanup, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { useJobs } from '../state/jobs_store';
import { parseRoute } from '../state/route';
import { navigate, useRouter } from '../state/router';
import { sampleJob } from '../testing/samples';
import { StartingView } from './starting_view';

beforeEach(() => {
  vi.stubGlobal('WebSocket', class extends EventTarget {
    close(): void {}
  });
  vi.stubGlobal('fetch', async () => Response.json({ jobs: [] }));
  navigate(parseRoute('#/starting/train.py'));
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  useJobs.setState({ jobs: null, error: null, connection: 'connecting' });
});

it('goes to the first job of the program by itself', async () => {
  render(<StartingView name="train.py" />);
  expect(await screen.findByText('train.py is starting…')).not.toBeNull();
  act(() => useJobs.setState({ jobs: [sampleJob({ id: 'train' })] }));
  const { route } = useRouter.getState();
  expect(route.view === 'job' && route.route.job).toBe('train');
});
