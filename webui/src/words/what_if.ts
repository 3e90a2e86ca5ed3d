// Texts about experiments with the op of a hit.

import type { WhatIf } from '../api/types';

export const whatIf = 'What if…';
export const whatIfHint = 'Repeat the op in the paused process: in float64, with finite inputs, with deterministic kernels';
export const replayStep = 'Replay step';
export const replayStepHint = 'Repeat the step up to here as it was: does it fail again, with the same bits?';
export const outcomes = 'Outcomes';

export function fails(outcome: boolean | null): string {
  if (outcome === null) return 'cannot run';
  return outcome ? 'fails' : 'does not fail';
}

export function level({ level, why_not_step }: WhatIf): string {
  if (level === 'step') return 'All ops of the step were repeated.';
  const why = why_not_step === null ? '' : `: ${why_not_step}`;
  return `The op and some before it were repeated, not the whole step${why}.`;
}
