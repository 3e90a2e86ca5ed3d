// Matches conditions with the framework of a job.

import type { Condition } from '../api/types';

// The frameworks whose programs test the conditions of training themselves.
const TESTING_TRAINING: ReadonlySet<string> = new Set(['pytorch']);

// Returns whether programs of the framework, as jobs name it, test the conditions of training.
export function canTestTraining(framework: string | undefined): boolean {
  return framework !== undefined && TESTING_TRAINING.has(framework);
}

// The same for any condition. A job that has not told its framework yet is given the benefit of the doubt.
export function isTestedIn(condition: Pick<Condition, 'target'>, framework: string): boolean {
  return condition.target !== 'training' || framework === '' || canTestTraining(framework);
}
