// Which steps a job has values of: the current one and, where they are recorded, the one before.

import type { ValueQuery } from './queries';

// Returns the steps that the values of a query can be compared with, the newest first.
export function stepsToCompare({ step }: Pick<ValueQuery, 'step'>, now: number): number[] {
  const kept = now > 0 ? [now, now - 1] : [now];
  return kept.filter((other) => other !== stepOf(step, now));
}

// Resolves "current" and "previous" against the step of the job.
export function stepOf(step: string | null, now: number): number {
  if (step === null || step === 'current') return now;
  return step === 'previous' ? now - 1 : Number(step);
}
