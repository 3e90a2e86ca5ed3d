// What the enabled watchpoints look at, as far as the page knows the conditions.

import type { Category, Condition } from '../api/types';
import type { WatchSelection } from '../index/coverage';
import { useJob } from './job_store';

let targets = new Map<string, Category | null>();

// The catalogue's targets; before it is known, a condition looks at any tensor.
export function setConditionTargets(conditions: readonly Condition[]): void {
  targets = new Map(
    conditions.map(({ id, target }) => [id, target === 'tensor' ? null : target]),
  );
}

export function watchSelections(): WatchSelection[] {
  return useJob
    .getState()
    .model.watchpoints.filter((watchpoint) => watchpoint.enabled)
    .map(({ nodes, scopes, patterns, categories, condition }) => ({
      nodes,
      scopes,
      patterns,
      categories,
      target: targets.get(condition.id) ?? null,
    }));
}
