import { act, renderHook } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { Job } from '../api/types';
import { useJob } from '../state/job_store';
import { sampleJob } from '../testing/samples';
import { useStopVersion } from './use_stop_version';

const [rank] = sampleJob().ranks;
const ranksAt = (...steps: number[]) => steps.map((step, i) => ({ ...rank!, rank: i, state: 'paused' as const, step }));
const update = (changes: Partial<Job>) =>
  act(() => useJob.setState(({ model }) => ({ model: { ...model, info: sampleJob(changes) } })));

it('changes when a rank comes to stand later, and not while the job runs', () => {
  update({ state: 'paused', step: 3, ranks: ranksAt(2, 3) });
  const { result } = renderHook(() => useStopVersion());
  const first = result.current;
  update({ state: 'paused', step: 3, ranks: ranksAt(3, 3) });
  const together = result.current;
  expect(together).not.toBe(first);
  update({ state: 'running', step: 4, ranks: ranksAt(4, 4).map((other) => ({ ...other, state: 'running' as const })) });
  expect(result.current).toBe(together);
});
