// Texts about watchpoints, except those of the form.

import type { Category, Condition, PauseMode } from '../api/types';

export const watchpoints = 'Watchpoints';

// The nodes that a watchpoint covers: by default those of its condition, or a category.
export const targetNames: Record<Condition['target'], string> = {
  tensor: 'everything',
  weight: 'all weights',
  gradient: 'all gradients',
  activation: 'all activations',
};
export const categoryNames: Record<Category, string> = {
  weight: 'all weights',
  gradient: 'all gradients',
  activation: 'all activations',
  optimizer: 'all optimizer nodes',
  other: 'all other nodes',
};

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
