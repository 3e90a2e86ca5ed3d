import { describe, expect, it } from 'vitest';
import type { Training } from '../api/types';
import { sampleJob } from '../testing/samples';
import { isHere, leftTraining } from './trainings';

const training = (change: Partial<Training> = {}): Training => ({
  pid: 4242,
  script: 'train.py',
  rank: null,
  framework: 'pytorch',
  framework_version: '2.13.0',
  started_at: '2026-01-01T00:00:00Z',
  job: null,
  server: null,
  ...change,
});

describe('a rank', () => {
  it('is on the server’s machine if its agent connects over loopback or a socket', () => {
    for (const peer of ['127.0.0.1:5000', '[::1]:5000', '%5B::1%5D:5000', '[::ffff:127.0.0.1]:5000', 'unix socket']) {
      expect(isHere({ peer }), peer).toBe(true);
    }
    for (const peer of ['10.0.0.7:5000', '[fe80::1]:5000', '', 'relay:127.0.0.1:5000']) {
      expect(isHere({ peer }), peer).toBe(false);
    }
  });
});

describe('a program that goes on without graphdbg', () => {
  const job = sampleJob({ state: 'finished' });

  it('is that of the job’s process on the same machine', () => {
    expect(leftTraining(job, [training({ pid: 1 }), training()], 'node7')).toEqual(training());
    expect(leftTraining(job, [training()], 'node8')).toBeNull();
  });

  it('is not one that is debugged already', () => {
    expect(leftTraining(job, [training({ job: 'next' })], 'node7')).toBeNull();
  });
});
