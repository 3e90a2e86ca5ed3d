// Matches conditions with the framework of a job.

import type { Condition } from '../api/types';
import type { ReasonNotOffered } from '../words/watch_form';

// The frameworks whose programs test the conditions of training themselves.
const TESTING_TRAINING: ReadonlySet<string> = new Set(['pytorch']);

// Returns whether programs of the framework, as jobs name it, test the conditions of training.
export function canTestTraining(framework: string | undefined): boolean {
  return framework !== undefined && TESTING_TRAINING.has(framework);
}

type Target = Condition['target'];

// What programs of a framework have none of.
const WITHOUT: Readonly<Record<string, readonly Target[]>> = {
  lightgbm: ['weight'],
  onnxruntime: ['gradient'],
  xgboost: ['weight'],
};

// Returns null for a condition that is offered. A job that has not told its framework yet is given the benefit of
// the doubt.
export function reasonNotOffered({ target }: Pick<Condition, 'target'>, framework: string): ReasonNotOffered | null {
  if (target === 'training') return framework === '' || canTestTraining(framework) ? null : 'training';
  const missing = Object.hasOwn(WITHOUT, framework) && WITHOUT[framework]?.includes(target);
  return missing && (target === 'weight' || target === 'gradient') ? target : null;
}

// How many of the conditions are not offered, by the reason.
export function countNotOffered(
  conditions: ReadonlyArray<Pick<Condition, 'target'>>,
  framework: string,
): Map<ReasonNotOffered, number> {
  const counts = new Map<ReasonNotOffered, number>();
  for (const condition of conditions) {
    const reason = reasonNotOffered(condition, framework);
    if (reason !== null) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return counts;
}
