// Watchpoints: what they say in words, and the calls that change them.

import { api } from '../api/client';
import { describe, Problem } from '../api/problem';
import type { Condition, Hit, Watchpoint, WatchpointSpec } from '../api/types';
import { formatNumber } from '../base/format';
import type { Num } from '../base/numbers';
import { dropWatchpoint, putWatchpoint } from './job';
import { useJob } from './job_store';
import { showToast } from './toasts';

const RELATIONS: Record<string, string> = { gt: '>', lt: '<' };

// "abs_max_gt" with 1000 reads "abs_max > 1000"; other ids stand for themselves.
export function conditionText(id: string, params: Record<string, Num>): string {
  const match = /^(.+)_(gt|lt)$/.exec(id);
  const value = params['value'];
  if (match && value !== undefined) {
    return `${match[1] ?? id} ${RELATIONS[match[2] ?? ''] ?? ''} ${formatNumber(value)}`;
  }
  const rest = Object.entries(params).map(([name, number]) => `${name}=${formatNumber(number)}`);
  return rest.length === 0 ? id : `${id} ${rest.join(' ')}`;
}

export function targetText(watchpoint: WatchpointSpec): string {
  const parts = [
    ...watchpoint.nodes,
    ...watchpoint.scopes.map((scope) => `${scope}/`),
    ...watchpoint.patterns,
    ...watchpoint.categories.map((category) => `all of kind ${category}`),
  ];
  return parts.length === 0 ? 'everything' : parts.join(', ');
}

const ACTUAL_NAMES: Record<string, string> = {
  nan_count: 'NaN',
  inf_count: 'Inf',
  pos_inf_count: '+Inf',
  neg_inf_count: '-Inf',
};

// What was measured: "3 NaN", "abs_max 1240".
export function actualText(hit: Hit): string {
  const entries = Object.entries(hit.actual);
  const counts = entries.filter(([name, value]) => name in ACTUAL_NAMES && value !== 0);
  const shown = counts.length > 0 ? counts : entries;
  return shown
    .map(([name, value]) =>
      name in ACTUAL_NAMES
        ? `${formatNumber(value)} ${ACTUAL_NAMES[name]}`
        : `${name} ${formatNumber(value)}`,
    )
    .join(', ');
}

export type Target =
  | { kind: 'everything' }
  | { kind: 'node'; name: string }
  | { kind: 'scope'; name: string }
  | { kind: 'pattern'; pattern: string };

export function specOf(
  condition: Condition,
  params: Record<string, number>,
  target: Target,
  pause: WatchpointSpec['pause'],
): WatchpointSpec {
  return {
    condition: { id: condition.id, params },
    nodes: target.kind === 'node' ? [target.name] : [],
    scopes: target.kind === 'scope' ? [target.name] : [],
    patterns: target.kind === 'pattern' ? [target.pattern] : [],
    categories: [],
    pause,
    enabled: true,
  };
}

function jobId(): string {
  return useJob.getState().id ?? '';
}

function failed(title: string, error: unknown): void {
  showToast({ kind: 'error', title, detail: describe(error) });
}

// The problem if it was refused.
export async function addWatchpoint(spec: WatchpointSpec): Promise<Problem | null> {
  try {
    const watchpoint = await api.addWatchpoint(jobId(), spec);
    useJob.setState(({ model }) =>
      model.watchpoints.some((other) => other.id === watchpoint.id)
        ? {}
        : { model: putWatchpoint(model, watchpoint) },
    );
    return null;
  } catch (error) {
    return error instanceof Problem ? error : new Problem(0, 'failed', 'Failed', describe(error));
  }
}

export async function switchWatchpoint(watchpoint: Watchpoint, enabled: boolean): Promise<void> {
  try {
    const changed = await api.changeWatchpoint(jobId(), watchpoint.id, { enabled });
    useJob.setState(({ model }) => ({ model: putWatchpoint(model, changed) }));
  } catch (error) {
    failed(`Watchpoint ${watchpoint.id} was not changed`, error);
  }
}

export async function removeWatchpoint(id: number): Promise<void> {
  try {
    await api.removeWatchpoint(jobId(), id);
    useJob.setState(({ model }) => ({ model: dropWatchpoint(model, id) }));
  } catch (error) {
    failed(`Watchpoint ${id} was not removed`, error);
  }
}
