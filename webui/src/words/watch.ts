// Texts about watchpoints, except those of the form.

import type { Category, Condition, PauseMode } from '../api/types';

export const watchpoints = 'Watchpoints';

// After a condition: it also stops at infinities that reach no result.
export const alsoAbsorbed = 'even if it reaches no result';
export const alsoPropagated = 'also where it is passed on';

// The nodes that a watchpoint covers: by default those of its condition, or a category.
export const targetNames: Record<Condition['target'], string> = {
  tensor: 'everything',
  weight: 'all weights',
  gradient: 'all gradients',
  activation: 'all activations',
  op: 'every op',
  training: 'the training',
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
export const mutedUntil = (step: number) => `muted until step ${step}`;
export const mutedHint = 'Hits are listed but do not pause the job';
// A selection that covers no node: before the first step, the job has not reported its ops.
export const noNodesYet = 'no nodes yet';
export const noMatchingNodes = 'no matching nodes';
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
export const stopIfNotLearning = 'Stop if it does not learn';
export const stopIfNotLearningHint =
  'Missing or zero gradients, parameters in no optimizer, wrong modes, labels that broadcast and more';
export const watchesTraining = 'Training that does not learn';
export const addWatchpoint = 'Add watchpoint';

// Watchpoints that only make the job keep data.
export const keepingNames = {
  history: 'Records statistics at every step',
  previous: 'Keeps previous values',
};

// Conditions and measured values.
export const or = ' or ';
export const countNames: Record<string, string> = {
  nan_count: 'NaN',
  inf_count: 'Inf',
  pos_inf_count: '+Inf',
  neg_inf_count: '-Inf',
};
// Fields that describe when or how the values were measured.
export const contextNames: Record<string, string> = {
  iteration: 'iteration',
  micro_step: 'pass',
  grad_scale: 'gradients scaled by',
  channel: 'channel',
  matching_channels: 'channels that match:',
};
export const perChannel = (axis: string) => `for each channel of axis ${axis}`;

// A narrowed selection: "everything (only addmm, at model.py:32; not aux/)".
export const only = (parts: string) => `only ${parts}`;
export const atLines = (lines: string) => `at ${lines}`;
export const onRanks = (ranks: string) => `on rank ${ranks}`;
export const except = (parts: string) => `not ${parts}`;
export const executed = 'executed';

// Measured values in words.
export const allZero = (count: string) => `all ${count === '' ? '' : `${count} `}values are zero`;
export const unchanged = 'unchanged since the previous step';
export const between = (from: string, to: string) => `between ${from} and ${to}`;
export const atMost = (limit: string) => `≤ ${limit}`;
export const atLeast = (limit: string) => `≥ ${limit}`;
// `share` has a percent sign.
export const shareOf = (share: string, range: string) => `${share} of values ${range}`;
export const deadRelu = ': dead ReLU';
export const saturated = (range: string) => `saturated: almost no values ${range}`;
// The symbol of an element in the titles of parameters, by the tensors of the condition.
export const symbols: Partial<Record<Condition['target'], string>> = { gradient: '|g|', weight: '|w|' };

// Messages.
export const conditionOn = (condition: string, target: string) => `${condition} on ${target}`;
export const watchpointAdded = (id: number) => `Watchpoint ${id} added`;
export const watchpointDeleted = (id: number) => `Watchpoint ${id} deleted`;
export const notAdded = 'Could not add the watchpoint';
export const notChanged = (id: number) => `Could not change watchpoint ${id}`;
export const notDeleted = (id: number) => `Could not delete watchpoint ${id}`;
export const notRestored = 'Could not restore the watchpoint';
export const recommended = 'Recommended watchpoints';
export const recommendedNotAdded = 'Could not add the recommended watchpoints';
export const alreadyAdded = 'Already added.';
export const added = (watchpoints: string) => `${watchpoints} added.`;
export const requestFailed = 'Failed';
