// The selections of the enabled watchpoints.

import type { Category, WatchLists, Watchpoint } from '../api/types';
import type { WatchSelection } from '../index/coverage';
import { targetOf } from './condition_text';
import { useJob } from './job_store';
import { listsIn } from './narrowing';

// Null for conditions on any tensor or on none, and for all conditions until the catalogue is loaded.
export function categoryOf(condition: string): Category | null {
  const target = targetOf(condition);
  return target === 'tensor' || target === 'op' || target === 'training' ? null : target;
}

// What a selection covers depends on the tensors that the condition applies to.
export function selectionFor(condition: string, lists: WatchLists): WatchSelection {
  const { ranks: _, ...others } = listsIn(lists);
  return { ...others, target: categoryOf(condition), ops_only: targetOf(condition) === 'op' };
}

export const selectionOf = (watchpoint: Watchpoint) => selectionFor(watchpoint.condition.id, watchpoint);

export function watchSelections(): WatchSelection[] {
  const { watchpoints } = useJob.getState().model;
  const onTensors = ({ enabled, condition }: Watchpoint) => enabled && targetOf(condition.id) !== 'training';
  return watchpoints.filter(onTensors).map(selectionOf);
}
