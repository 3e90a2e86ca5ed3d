// The targets of watchpoints, and the requests that change watchpoints.

import { api } from '../api/client';
import { Problem } from '../api/problem';
import type { Category, Condition, ParamValue, WatchLists, Watchpoint, WatchpointSpec } from '../api/types';
import { undo } from '../words/common';
import * as counts from '../words/counts';
import * as words from '../words/watch';
import { describe } from './describe';
import { conditionText, targetText, trainingConditions } from './condition_text';
import { dropWatchpoint, putWatchpoint } from './job';
import { useJob } from './job_store';
import { offerTakeOver } from './lease';
import { listsIn } from './narrowing';
import { keepingSpec, keepingText, type Keeping } from './keeping';
import { showToast } from './toasts';

type Lists = WatchLists;

export type Target =
  | { kind: 'everything' }
  | { kind: 'node'; name: string }
  | { kind: 'scope'; name: string }
  | { kind: 'pattern'; pattern: string }
  | { kind: 'category'; category: Category }
  // Lists used unchanged.
  | { kind: 'lists'; lists: Lists };

export function listsOf(target: Target): Lists {
  const none: Lists = { nodes: [], scopes: [], patterns: [], categories: [] };
  switch (target.kind) {
    case 'everything':
      return none;
    case 'node':
      return { ...none, nodes: [target.name] };
    case 'scope':
      return { ...none, scopes: [target.name] };
    case 'pattern':
      return { ...none, patterns: [target.pattern] };
    case 'category':
      return { ...none, categories: [target.category] };
    case 'lists':
      return listsIn(target.lists);
  }
}

export function specOf(
  condition: Condition,
  params: Record<string, ParamValue>,
  target: Target,
  pause: WatchpointSpec['pause'],
): WatchpointSpec {
  return {
    condition: { id: condition.id, params },
    ...listsOf(target),
    pause,
    enabled: true,
  };
}

function jobId(): string {
  return useJob.getState().id ?? '';
}

function reportFailure(title: string, error: unknown, again: () => void): void {
  const controller = useJob.getState().model.info?.controller;
  if (offerTakeOver({ job: jobId(), controller, error, detail: title, again })) return;
  showToast({ kind: 'error', title, detail: describe(error) });
}

function problemFor(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, 'failed', words.requestFailed, describe(error));
}

async function createWatchpoint(spec: WatchpointSpec): Promise<Watchpoint> {
  const watchpoint = await api.addWatchpoint(jobId(), spec);
  useJob.setState(({ model }) =>
    model.watchpoints.some((other) => other.id === watchpoint.id)
      ? {}
      : { model: putWatchpoint(model, watchpoint) },
  );
  return watchpoint;
}

// Returns the problem if the server refused it, else null.
export async function addWatchpoint(spec: WatchpointSpec): Promise<Problem | null> {
  try {
    await createWatchpoint(spec);
    return null;
  } catch (error) {
    return problemFor(error);
  }
}

// Adds a watchpoint that pauses at the first NaN or infinity in the target.
export async function watchForOverflow(target: Target): Promise<void> {
  const condition = { id: 'overflow', params: {} };
  const problem = await addWatchpoint({ condition, ...listsOf(target), pause: 'node', enabled: true });
  if (problem !== null) reportFailure(words.notAdded, problem, () => void watchForOverflow(target));
}

// Stops the job where a line of the program runs, or where the op is executed.
export async function breakOn(lists: Partial<Lists>): Promise<void> {
  const condition = { id: 'executed', params: {} };
  const spec = { condition, ...listsOf({ kind: 'everything' }), ...lists, pause: 'node' as const, enabled: true };
  const problem = await addWatchpoint(spec);
  if (problem !== null) reportFailure(words.notAdded, problem, () => void breakOn(lists));
}

// Returns the problem if the server refused it, else null.
export async function changeWatchpoint(
  id: number,
  change: Partial<WatchpointSpec>,
): Promise<Problem | null> {
  try {
    const changed = await api.changeWatchpoint(jobId(), id, change);
    useJob.setState(({ model }) => ({ model: putWatchpoint(model, changed) }));
    return null;
  } catch (error) {
    return problemFor(error);
  }
}

async function removeAll(ids: readonly number[]): Promise<void> {
  for (const id of ids) {
    try {
      await api.removeWatchpoint(jobId(), id);
      useJob.setState(({ model }) => ({ model: dropWatchpoint(model, id) }));
    } catch (error) {
      reportFailure(words.notDeleted(id), error, () => void removeAll([id]));
    }
  }
}

export async function addRecommended(): Promise<void> {
  try {
    const { watchpoints, made } = await api.recommended(jobId());
    const fresh = watchpoints.filter(({ id }) => made.includes(id));
    useJob.setState(({ model }) => ({ model: fresh.reduce(putWatchpoint, model) }));
    showToast({
      kind: 'info',
      title: words.recommended,
      detail: made.length === 0 ? words.alreadyAdded : words.added(counts.watchpoints(made.length)),
      ...(made.length > 0 ? { action: { label: undo, run: () => void removeAll(made) } } : {}),
    });
  } catch (error) {
    reportFailure(words.recommendedNotAdded, error, () => void addRecommended());
  }
}

// Adds the watchpoints for training that does not learn.
export async function watchTraining(): Promise<void> {
  const watched = new Set(useJob.getState().model.watchpoints.map(({ condition }) => condition.id));
  const made: number[] = [];
  try {
    for (const id of trainingConditions().filter((condition) => !watched.has(condition))) {
      const condition = { id, params: {} };
      made.push((await createWatchpoint({ condition, ...listsOf({ kind: 'everything' }), pause: 'step', enabled: true })).id);
    }
    showToast({
      kind: 'info',
      title: words.watchesTraining,
      detail: made.length === 0 ? words.alreadyAdded : words.added(counts.watchpoints(made.length)),
      ...(made.length > 0 ? { action: { label: undo, run: () => void removeAll(made) } } : {}),
    });
  } catch (error) {
    reportFailure(words.notAdded, error, () => void watchTraining());
  }
}

// Adds a watchpoint that makes the job keep data without pausing.
export async function keep(what: Keeping, node: string): Promise<void> {
  const spec = keepingSpec(what, node);
  try {
    const { id } = await createWatchpoint(spec);
    showToast({
      kind: 'info',
      title: words.watchpointAdded(id),
      detail: `${keepingText(spec.condition)}: ${node}`,
      action: { label: undo, run: () => void removeAll([id]) },
    });
  } catch (error) {
    reportFailure(words.notAdded, error, () => void keep(what, node));
  }
}

export async function switchWatchpoint(watchpoint: Watchpoint, enabled: boolean): Promise<void> {
  try {
    const changed = await api.changeWatchpoint(jobId(), watchpoint.id, { enabled });
    useJob.setState(({ model }) => ({ model: putWatchpoint(model, changed) }));
  } catch (error) {
    reportFailure(words.notChanged(watchpoint.id), error, () => void switchWatchpoint(watchpoint, enabled));
  }
}

// The step until which a watchpoint pauses nothing; null if it pauses.
export function mutedUntil({ muted_until_step }: Watchpoint, step: number): number | null {
  return muted_until_step > step ? muted_until_step : null;
}

// The watchpoint without the fields that the server adds.
export function specOfWatchpoint(watchpoint: Watchpoint): WatchpointSpec {
  const { condition, pause, enabled, once, ignore_count, muted_until_step, group, actions } = watchpoint;
  return { condition, ...listsIn(watchpoint), pause, enabled, once, ignore_count, muted_until_step, group, actions };
}

async function restoreWatchpoint(watchpoint: Watchpoint): Promise<void> {
  const problem = await addWatchpoint(specOfWatchpoint(watchpoint));
  if (problem !== null) reportFailure(words.notRestored, problem, () => void restoreWatchpoint(watchpoint));
}

// Removes a watchpoint and offers Undo. Ids are never reused, so a restored watchpoint gets a new
// one.
export async function removeWatchpoint(watchpoint: Watchpoint): Promise<void> {
  const { id, condition } = watchpoint;
  try {
    await api.removeWatchpoint(jobId(), id);
    useJob.setState(({ model }) => ({ model: dropWatchpoint(model, id) }));
    showToast({
      kind: 'info',
      title: words.watchpointDeleted(id),
      detail: words.conditionOn(conditionText(condition.id, condition.params), targetText(watchpoint)),
      action: { label: undo, run: () => void restoreWatchpoint(watchpoint) },
    });
  } catch (error) {
    reportFailure(words.notDeleted(id), error, () => void removeWatchpoint(watchpoint));
  }
}
