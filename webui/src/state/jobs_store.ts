// All jobs of the server, kept up to date by its events.

import { create } from 'zustand';
import { api } from '../api/client';
import { EventStream, type Connection } from '../api/events';
import { describe } from '../api/problem';
import type { Job, ServerEvent } from '../api/types';
import { showToast } from './toasts';

interface JobsState {
  jobs: Job[] | null;
  error: string | null;
  connection: Connection;
  // Those that are about to be forgotten.
  leaving: ReadonlySet<string>;
}

export const useJobs = create<JobsState>(() => ({
  jobs: null,
  error: null,
  connection: 'connecting',
  leaving: new Set(),
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

// Time to change one's mind: a job that was forgotten cannot be brought back.
const FORGET_MS = 8000;

function setLeaving(id: string, leaving: boolean): void {
  useJobs.setState((state) => {
    const next = new Set(state.leaving);
    if (leaving) next.add(id);
    else next.delete(id);
    return { leaving: next };
  });
}

async function forgetNow(job: Job): Promise<void> {
  try {
    await api.forget(job.id);
    useJobs.setState(({ jobs }) => ({ jobs: jobs?.filter((other) => other.id !== job.id) ?? null }));
  } catch (error) {
    showToast({ kind: 'error', title: `${job.name} was not removed`, detail: describe(error) });
  } finally {
    setLeaving(job.id, false);
  }
}

// Takes the job from the list, and from the server if nobody objects meanwhile.
export function forgetJob(job: Job): void {
  setLeaving(job.id, true);
  const timer = setTimeout(() => void forgetNow(job), FORGET_MS);
  const undo = () => {
    clearTimeout(timer);
    setLeaving(job.id, false);
  };
  showToast({
    kind: 'info',
    title: `${job.name} removed`,
    detail: 'Its graph, watchpoints and hits go with it.',
    action: { label: 'Undo', run: undo },
    stay_ms: FORGET_MS,
  });
}
