// All jobs of the server, kept up to date by its events.

import { create } from 'zustand';
import { api } from '../api/client';
import { EventStream, type Connection } from '../api/events';
import { describe } from '../api/problem';
import type { Job, ServerEvent } from '../api/types';

interface JobsState {
  jobs: Job[] | null;
  error: string | null;
  connection: Connection;
}

export const useJobs = create<JobsState>(() => ({
  jobs: null,
  error: null,
  connection: 'connecting',
}));

export function reduceJobs(jobs: readonly Job[], event: ServerEvent): Job[] {
  if (event.type !== 'job' && event.type !== 'state') return [...jobs];
  const { info } = event;
  if (info === null) return jobs.filter((job) => job.id !== event.job);
  const place = jobs.findIndex((job) => job.id === info.id);
  return place < 0 ? [...jobs, info] : jobs.with(place, info);
}

export async function loadJobs(): Promise<void> {
  try {
    const { jobs } = await api.jobs();
    useJobs.setState({ jobs, error: null });
  } catch (error) {
    useJobs.setState({ error: describe(error) });
  }
}

export function followJobs(onRefused: () => void): () => void {
  const stream = new EventStream('*', {
    onEvent: (event) => useJobs.setState(({ jobs }) => ({ jobs: reduceJobs(jobs ?? [], event) })),
    onConnection: (connection) => {
      useJobs.setState({ connection });
      // What happened before the subscription is only in the list.
      if (connection === 'live') void loadJobs();
    },
    onRefused,
  });
  void loadJobs();
  return () => stream.close();
}

export async function forgetJob(id: string): Promise<string | null> {
  try {
    await api.forget(id);
    useJobs.setState(({ jobs }) => ({ jobs: jobs?.filter((job) => job.id !== id) ?? null }));
    return null;
  } catch (error) {
    return describe(error);
  }
}
