// The recorded run that the page shows. Views see it as a job that is paused at the step in the
// address: so values, histories and comparisons work as they do on a job.

import { create } from 'zustand';
import { api } from '../api/client';
import { Problem } from '../api/problem';
import type { Job, RecordedStep, Run } from '../api/types';
import { isRun } from '../base/run_id';
import { loadHits } from './hits';
import { putInfo } from './job';
import { initialJob, useJob } from './job_store';
import { patchRoute, selectedRank, useRouter } from './router';
import { curveOf, pointsOf, stepsOf, type CurvePoint } from './timeline';
import { NO_FILTER } from './ui';

interface RunState {
  id: string | null;
  run: Run | null;
  entries: readonly RecordedStep[];
  // Distinct steps, ascending.
  steps: readonly number[];
  // Tensors with one element whose curve can be shown: losses, then other scalars.
  scalars: readonly string[];
  // The curve that is shown; null if none was recorded.
  curve: { name: string; points: CurvePoint[] } | null;
}

const INITIAL: RunState = { id: null, run: null, entries: [], steps: [], scalars: [], curve: null };
const STEPS_PAGE = 10_000;
const CURVE_POINTS = 600;
const POLL_MS = 1000;
// Collections whose tensors have one element.
const SCALARS = ['losses', 'metrics'];

export const useRun = create<RunState>(() => INITIAL);

// The step in the address, or the last one.
export function stepInAddress(last: number): number {
  const { route } = useRouter.getState();
  const text = route.view === 'job' ? route.route.step : null;
  return text !== null && /^\d+$/.test(text) ? Number(text) : last;
}

// The run as a job that is paused at a step.
export function jobAt(id: string, run: Run, step: number): Job {
  const ranks = run.ranks.map((rank) => ({ ...rank, state: 'paused' as const, step }));
  return { ...run, id, state: 'paused', pause_reason: null, step, node: '', ranks };
}

// Shows the step in the address.
export function showStep(): void {
  const { id, run } = useRun.getState();
  if (id === null || run === null || useJob.getState().id !== id) return;
  const info = jobAt(id, run, stepInAddress(run.last_step));
  useJob.setState(({ model }) => ({ model: putInfo(model, info), problem: null }));
}

export function goToStep(step: number | null): void {
  if (step !== null) patchRoute({ step: String(step) });
}

async function loadSteps(id: string, rank: number): Promise<RecordedStep[]> {
  const entries: RecordedStep[] = [];
  let cursor: string | null = null;
  do {
    // Each page contains the cursor of the next.
    // oxlint-disable-next-line no-await-in-loop
    const page: Awaited<ReturnType<typeof api.steps>> = await api.steps(id, { rank, limit: STEPS_PAGE, cursor });
    entries.push(...page.steps);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return entries;
}

async function loadCurve(id: string, rank: number, name: string | undefined): Promise<RunState['curve']> {
  if (name === undefined) return null;
  return { name, points: curveOf(pointsOf(await api.runHistory(id, name, rank, CURVE_POINTS))) };
}

async function loadScalars(id: string): Promise<string[]> {
  const { collections } = await api.collections(id);
  return [...new Set(SCALARS.flatMap((wanted) => collections.filter(({ name }) => name === wanted).flatMap(({ tensors }) => tensors)))];
}

class RunFollower {
  private timer: ReturnType<typeof setTimeout> | undefined;

  open(id: string): () => void {
    useRun.setState({ ...INITIAL, id });
    useJob.setState({ ...initialJob(id), connection: 'live' });
    void this.load(id);
    return () => {
      clearTimeout(this.timer);
      useRun.setState(INITIAL);
    };
  }

  // Loads everything again that may have grown.
  async load(id: string): Promise<void> {
    const isShown = () => useRun.getState().id === id;
    try {
      const run = await api.run(id);
      if (!isShown()) return;
      const grown = useRun.getState().run?.last_step !== run.last_step;
      useRun.setState({ run });
      showStep();
      if (grown) {
        useJob.setState(({ model }) => ({ model: { ...model, graph_version: model.graph_version + 1 } }));
        await this.loadRank(id);
      }
      if (run.ended === null && isShown()) this.timer = setTimeout(() => void this.load(id), POLL_MS);
    } catch (error) {
      if (isShown() && error instanceof Problem) useJob.setState({ problem: error });
    }
  }

  // The steps, the loss and the hits, as the selected rank recorded them.
  async loadRank(id: string): Promise<void> {
    const rank = selectedRank();
    const entries = await loadSteps(id, rank);
    const isShown = () => useRun.getState().id === id && selectedRank() === rank;
    if (!isShown()) return;
    useRun.setState({ entries, steps: stepsOf(entries) });
    await loadHits(NO_FILTER);
    const scalars = await loadScalars(id);
    const before = useRun.getState().curve?.name ?? '';
    const curve = await loadCurve(id, rank, scalars.includes(before) ? before : scalars[0]);
    if (isShown()) useRun.setState({ scalars, curve });
  }
}

const follower = new RunFollower();

// Returns a function that closes the run.
export function openRun(id: string): () => void {
  return follower.open(id);
}

// Shows the curve of this tensor above the slider.
export async function chooseCurve(name: string): Promise<void> {
  const { id } = useRun.getState();
  if (id === null) return;
  const rank = selectedRank();
  const curve = await loadCurve(id, rank, name);
  if (useRun.getState().id === id && selectedRank() === rank) useRun.setState({ curve });
}

export function showRank(): void {
  const { id, run } = useRun.getState();
  if (id !== null && run !== null && isRun(id)) void follower.loadRank(id);
}
