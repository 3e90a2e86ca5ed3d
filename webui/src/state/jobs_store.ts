// All jobs of the server, kept up to date by events.

import { create } from 'zustand';
import { api } from '../api/client';
import { EventStream, type Connection } from '../api/events';
import type { Job, ServerEvent } from '../api/types';
import { undo as undoLabel } from '../words/common';
import * as words from '../words/job';
import { describe } from './describe';
import { showToast } from './toasts';

interface JobsState {
  jobs: Job[] | null;
  error: string | null;
  connection: Connection;
  // Ids of jobs that will be removed unless the user undoes it.
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
      // Events before the subscription are reflected only in the list.
      if (connection === 'live') void loadJobs();
    },
    onRefused,
  });
  void loadJobs();
  return () => stream.close();
}

// Time for the user to undo the removal, which cannot be undone on the server.
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
    showToast({ kind: 'error', title: words.notRemoved(job.name), detail: describe(error) });
  } finally {
    setLeaving(job.id, false);
  }
}

// Removes the job from the list, and from the server unless the user undoes it in time.
export function forgetJob(job: Job): void {
  setLeaving(job.id, true);
  const timer = setTimeout(() => void forgetNow(job), FORGET_MS);
  const undo = () => {
    clearTimeout(timer);
    setLeaving(job.id, false);
  };
  showToast({
    kind: 'info',
    title: words.removed(job.name),
    detail: words.removedWithIt,
    action: { label: undoLabel, run: undo },
    stay_ms: FORGET_MS,
  });
}
