// The overview that the page shows: loads it, and what is new while the job runs.

import { useEffect } from 'react';
import { create } from 'zustand';
import { useQuery } from '@tanstack/react-query';
import { api } from '../api/client';
import { Problem } from '../api/problem';
import { isRun } from '../base/run_id';
import { NONE, type GraphIndex } from '../index/graph_index';
import type { Measure } from '../overview/measures';
import { append, assemble, type OverviewData } from './overview_data';
import { useJob } from './job_store';
import { useRun } from './run_store';
import { patchRoute } from './router';
import { revealNode, useScopes } from './scopes';
import { touch } from './ui';

interface OverviewState {
  job: string | null;
  rank: number;
  data: OverviewData | null;
  problem: Problem | null;
  // The groups that are open; null lets the page choose them.
  open: ReadonlySet<string> | null;
}

const POLL_MS = 1000;

export const useOverview = create<OverviewState>(() => ({ job: null, rank: 0, data: null, problem: null, open: null }));

// True if the job has started again, so that its steps count from 1.
function hasRestarted(last: number): boolean {
  const step = useJob.getState().model.info?.step ?? 0;
  return step > 0 && step < last / 2;
}

class OverviewFollower {
  private measure: Measure = 'activation';
  private running: AbortController | null = null;

  open(job: string, rank: number, measure: Measure): void {
    const { job: before, rank: rankBefore } = useOverview.getState();
    if (before !== job) useOverview.setState({ job, rank, data: null, problem: null, open: null });
    else if (rankBefore !== rank) useOverview.setState({ rank, data: null, problem: null });
    this.running?.abort();
    this.running = null;
    this.measure = measure;
    void this.refresh();
  }

  // Loads what is new. While a request is under way, further calls have no effect.
  readonly refresh = async (): Promise<void> => {
    const { job, data } = useOverview.getState();
    if (job === null || this.running !== null || document.visibilityState === 'hidden') return;
    const request = new AbortController();
    this.running = request;
    try {
      const last = data?.steps.at(-1)?.step ?? 0;
      // The server may leave out more steps of a run when it grows.
      const more = data !== null && last > 0 && data.measure === this.measure && !isRun(job) && !hasRestarted(last);
      const later = more ? await this.load(last, request.signal) : null;
      const next = data !== null && later !== null ? append(data, later) : null;
      const whole = next ?? (await this.load(null, request.signal));
      if (request.signal.aborted || whole === null || whole === data) return;
      useOverview.setState({ data: whole, problem: null });
    } catch (error) {
      if (!request.signal.aborted && error instanceof Problem) useOverview.setState({ problem: error });
    } finally {
      if (this.running === request) this.running = null;
    }
  };

  // The steps after `after`; null if the answers do not fit together, as while new modules run.
  private async load(after: number | null, signal: AbortSignal): Promise<OverviewData | null> {
    const { measure } = this;
    const { job, rank } = useOverview.getState();
    if (job === null) return null;
    const ask = (what: Measure) => api.overviewValues(job, rank, what, after, signal);
    const [values, bad] = await Promise.all([ask(measure), ask('non_finite')]);
    const overview = await api.overview(job, rank, after, signal);
    return assemble(measure, { overview, values, bad }, performance.now());
  }
}

const follower = new OverviewFollower();

// Loads the overview, and again each second while the job runs or the run is recorded.
export function useFollowOverview(job: string, rank: number, measure: Measure): void {
  useEffect(() => follower.open(job, rank, measure), [job, rank, measure]);
  const recording = useRun(({ run }) => run !== null && run.ended === null);
  const state = useJob(({ model }) => model.info?.state);
  const step = useJob(({ model }) => model.info?.step ?? 0);
  const live = isRun(job) ? recording : state === 'running';
  useEffect(() => {
    if (!live) return undefined;
    const timer = setInterval(() => void follower.refresh(), POLL_MS);
    return () => clearInterval(timer);
  }, [live]);
  useEffect(() => {
    if (live || isRun(job)) return undefined;
    void follower.refresh();
    // The job reports a step a little after it has ended.
    const timer = setTimeout(() => void follower.refresh(), POLL_MS);
    return () => clearTimeout(timer);
  }, [job, live, state, step]);
  useEffect(() => {
    const refresh = () => void follower.refresh();
    document.addEventListener('visibilitychange', refresh);
    return () => document.removeEventListener('visibilitychange', refresh);
  }, []);
}

// All measures and the distribution of one module over the steps; null requests nothing.
export function useOverviewModule(job: string, rank: number, module: string | null, lastStep: number) {
  return useQuery({
    queryKey: ['overview module', job, rank, module, lastStep],
    queryFn: ({ signal }) => api.overviewModule(job, rank, module ?? '', signal),
    enabled: module !== null,
    placeholderData: (previous) => (previous?.module === module ? previous : undefined),
    structuralSharing: false,
    gcTime: 5000,
  });
}

// The ops of a step, or of the newest one that was timed, which is asked for again after `lastStep`.
export function useOverviewOps(job: string, rank: number, step: number | null, lastStep: number) {
  return useQuery({
    queryKey: ['overview ops', job, rank, step ?? `newest of ${lastStep}`],
    queryFn: ({ signal }) => api.overviewOps(job, rank, step, signal),
    // The times of a step do not change.
    staleTime: step === null ? 0 : Infinity,
    placeholderData: (previous) => previous,
    structuralSharing: false,
    gcTime: 5000,
  });
}

export function setOpenGroups(open: ReadonlySet<string>): void {
  useOverview.setState({ open });
}

// The scope or node of the graph that is a module; null if the graph does not have it.
export function nodeOfModule(path: string): string | null {
  const names = path === '' ? ['forward'] : [`forward/${path}`, `Default/${path}`, path];
  const { index } = useScopes.getState();
  if (index === null) return names[0] ?? null;
  return names.find((name) => index.findScope(name) !== NONE) ?? null;
}

// The class of a module, such as "Linear"; empty if it is not known.
export function classOfModule(index: GraphIndex | null, path: string): string {
  const name = index === null || path === '' ? null : nodeOfModule(path);
  return index === null || name === null ? '' : index.opType(index.findScope(name));
}

// Selects the module, and goes to the step if the page shows a recorded run.
export function goToModule(path: string, step: number): void {
  touch();
  const node = nodeOfModule(path);
  if (node !== null) revealNode(node);
  if (isRun(useOverview.getState().job ?? '')) patchRoute({ step: String(step) });
}
