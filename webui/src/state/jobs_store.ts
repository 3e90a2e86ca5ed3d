// All jobs of the server, kept up to date by events.

import { create } from 'zustand';
import { api } from '../api/client';
import { EventStream, type Connection } from '../api/events';
import type { ControlCommand, Job, ServerEvent } from '../api/types';
import { refused } from '../words/control';
import { notRemoved } from '../words/job';
import { describe } from './describe';
import { withAllRanks } from './job';
import { setStorage } from './storage';
import { showToast } from './toasts';

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
  return place < 0 ? [...jobs, info] : jobs.with(place, withAllRanks(jobs[place] ?? null, info));
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
    onEvent: (event) => {
      if (event.type === 'server') setStorage(event.storage);
      else useJobs.setState(({ jobs }) => ({ jobs: reduceJobs(jobs ?? [], event) }));
    },
    onConnection: (connection) => {
      useJobs.setState({ connection });
      // Events before the subscription are reflected only in the list.
      if (connection === 'live') void loadJobs();
    },
    onRefused,
  });
  void loadJobs();
  return () => stream.close();
}

// Commands of the list go to all ranks.
export async function controlJob(job: Job, command: ControlCommand): Promise<void> {
  try {
    await api.control(job.id, { command });
  } catch (error) {
    showToast({ kind: 'error', title: refused(command), detail: `${job.name}: ${describe(error)}` });
  }
}

// Removes the job and its data from the server, which cannot be undone.
export async function removeJob(job: Job): Promise<void> {
  try {
    await api.forget(job.id);
    useJobs.setState(({ jobs }) => ({ jobs: jobs?.filter((other) => other.id !== job.id) ?? null }));
  } catch (error) {
    showToast({ kind: 'error', title: notRemoved(job.name), detail: describe(error) });
  }
}
