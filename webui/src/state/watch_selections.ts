// What the enabled watchpoints look at, as far as the page knows the conditions.

import type { Category } from '../api/types';
import type { WatchSelection } from '../index/coverage';
import { targetOf } from './condition_text';
import { useJob } from './job_store';

// Null: any tensor, as of every condition before the catalogue is known.
function categoryOf(condition: string): Category | null {
  const target = targetOf(condition);
  return target === 'tensor' ? null : target;
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
      target: categoryOf(condition.id),
    }));
}
