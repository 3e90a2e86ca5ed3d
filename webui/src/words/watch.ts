// Texts about watchpoints, except those of the form.

import type { PauseMode } from '../api/types';

export const watchpoints = 'Watchpoints';
export const pauseNames: Record<PauseMode, string> = {
  node: 'pause at op',
  step: 'pause at end of step',
  none: 'log only',
};
export const pauseHints: Record<PauseMode, string> = {
  node: 'Pauses at the op whose output matches',
  step: 'Pauses at the end of a step with hits',
  none: 'Logs hits without pausing',
};
export const editWatchpoint = (id: number) => `Edit watchpoint ${id}`;
export const copyWatchpoint = (id: number) => `Copy watchpoint ${id}`;
export const deleteWatchpoint = (id: number) => `Delete watchpoint ${id}`;
export const watchpointName = (id: number, condition: string, target: string) =>
  `Watchpoint ${id}: ${condition} on ${target}`;
export const noWatchpoints = 'No watchpoints';
export const noneSet = 'No watchpoints were set.';
export const whatWatchpointsDo = 'A watchpoint pauses the job at the first op whose output matches its condition.';
export const addRecommended = 'Add recommended set';
export const recommendedHint = 'NaN, exploding and vanishing gradients, unchanged weights and more';
export const stopAtFirstNan = 'Stop at the first NaN';
export const stopAtFirstNanHint = 'Adds a watchpoint for NaN or infinity on everything';
export const addWatchpoint = 'Add watchpoint';
