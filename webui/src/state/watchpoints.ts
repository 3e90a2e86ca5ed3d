// Watchpoints: what they say in words, and the calls that change them.

import { api } from '../api/client';
import { describe, Problem } from '../api/problem';
import type { Category, Condition, Hit, ParamValue, Watchpoint, WatchpointSpec } from '../api/types';
import { formatNumber } from '../base/format';
import type { Num } from '../base/numbers';
import { dropWatchpoint, putWatchpoint } from './job';
import { useJob } from './job_store';
import { showToast } from './toasts';

const RELATIONS: Record<string, string> = { gt: '>', ge: '>=', lt: '<', le: '<=' };

// "abs_max_gt" is the statistic abs_max and a relation.
function splitRelation(name: string): { measure: string; relation: string } | null {
  const [, measure = '', suffix = ''] = /^(.+)_(gt|ge|lt|le)$/.exec(name) ?? [];
  return measure === '' ? null : { measure, relation: RELATIONS[suffix] ?? '' };
}

function formatParam(name: string, value: ParamValue): string {
  if (typeof value === 'boolean') return String(value);
  const text = formatNumber(value as Num);
  return name.includes('percentage') ? `${text} %` : text;
}

// "abs_max_gt" with 1000 reads "abs_max > 1000", an expression as it is; other
// ids stand for themselves, with their parameters.
export function conditionText(id: string, params: Record<string, ParamValue>): string {
  const expression = params['expression'];
  if (id === 'expression' && expression !== undefined) return String(expression);
  const simple = splitRelation(id);
  const value = params['value'];
  if (simple !== null && value !== undefined) {
    return `${simple.measure} ${simple.relation} ${formatParam(id, value)}`;
  }
  const tested: string[] = [];
  const others: string[] = [];
  for (const [name, given] of Object.entries(params)) {
    const comparison = splitRelation(name);
    const text = formatParam(name, given);
    if (comparison === null) others.push(`${name}=${text}`);
    else tested.push(`${comparison.measure} ${comparison.relation} ${text}`);
  }
  return [id, tested.join(' or '), ...others].filter((part) => part !== '').join(' ');
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
  const others = entries.filter(([name]) => !(name in ACTUAL_NAMES));
  return [...counts, ...others]
    .map(([name, value]) =>
      name in ACTUAL_NAMES
        ? `${formatNumber(value)} ${ACTUAL_NAMES[name]}`
        : `${splitRelation(name)?.measure ?? name} ${formatParam(name, value)}`,
    )
    .join(', ');
}

type Lists = Pick<WatchpointSpec, 'nodes' | 'scopes' | 'patterns' | 'categories'>;

export type Target =
  | { kind: 'everything' }
  | { kind: 'node'; name: string }
  | { kind: 'scope'; name: string }
  | { kind: 'pattern'; pattern: string }
  | { kind: 'category'; category: Category }
  // As they are.
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
    case 'lists': {
      const { nodes, scopes, patterns, categories } = target.lists;
      return { nodes, scopes, patterns, categories };
    }
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

function failed(title: string, error: unknown): void {
  showToast({ kind: 'error', title, detail: describe(error) });
}

function problemFor(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, 'failed', 'Failed', describe(error));
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
    return problemFor(error);
  }
}

// One click: stops at the first NaN or infinity in a node or a scope.
export async function watchForOverflow(name: string, isScope: boolean): Promise<void> {
  const problem = await addWatchpoint({
    condition: { id: 'overflow', params: {} },
    nodes: isScope ? [] : [name],
    scopes: isScope ? [name] : [],
    patterns: [],
    categories: [],
    pause: 'node',
    enabled: true,
  });
  if (problem !== null) failed('The watchpoint was not made', problem);
}

// The problem if it was refused.
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

export async function addRecommended(): Promise<void> {
  try {
    const { watchpoints, made } = await api.recommended(jobId());
    const fresh = watchpoints.filter(({ id }) => made.includes(id));
    useJob.setState(({ model }) => ({ model: fresh.reduce(putWatchpoint, model) }));
    showToast({
      kind: 'info',
      title: 'Recommended watchpoints',
      detail: made.length === 0 ? 'All of them are there already.' : `${made.length} were added.`,
    });
  } catch (error) {
    failed('The recommended watchpoints were not made', error);
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

// The watchpoint as it was asked for, without what the server counts.
export function specOfWatchpoint(watchpoint: Watchpoint): WatchpointSpec {
  const { condition, nodes, scopes, patterns, categories, pause, enabled } = watchpoint;
  return { condition, nodes, scopes, patterns, categories, pause, enabled };
}

async function restoreWatchpoint(watchpoint: Watchpoint): Promise<void> {
  const problem = await addWatchpoint(specOfWatchpoint(watchpoint));
  if (problem !== null) failed('The watchpoint was not made again', problem);
}

// It can be taken back: ids are never used again, so it comes back under a new one.
export async function removeWatchpoint(watchpoint: Watchpoint): Promise<void> {
  const { id, condition } = watchpoint;
  try {
    await api.removeWatchpoint(jobId(), id);
    useJob.setState(({ model }) => ({ model: dropWatchpoint(model, id) }));
    showToast({
      kind: 'info',
      title: `Watchpoint ${id} deleted`,
      detail: `${conditionText(condition.id, condition.params)} on ${targetText(watchpoint)}`,
      action: { label: 'Undo', run: () => void restoreWatchpoint(watchpoint) },
    });
  } catch (error) {
    failed(`Watchpoint ${id} was not removed`, error);
  }
}
