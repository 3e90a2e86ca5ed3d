// The selections of the enabled watchpoints.

import type { Category, Watchpoint } from '../api/types';
import type { WatchSelection } from '../index/coverage';
import { targetOf } from './condition_text';
import { useJob } from './job_store';

// Null for conditions on any tensor or on none, and for all conditions until the catalogue is loaded.
export function categoryOf(condition: string): Category | null {
  const target = targetOf(condition);
  return target === 'tensor' || target === 'training' ? null : target;
}

export function selectionOf({ nodes, scopes, patterns, categories, condition }: Watchpoint): WatchSelection {
  return { nodes, scopes, patterns, categories, target: categoryOf(condition.id) };
}

export function watchSelections(): WatchSelection[] {
  const { watchpoints } = useJob.getState().model;
  const onTensors = ({ enabled, condition }: Watchpoint) => enabled && targetOf(condition.id) !== 'training';
  return watchpoints.filter(onTensors).map(selectionOf);
}
