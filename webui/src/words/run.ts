// Texts about recorded runs: their list, the step slider, comparisons, and checks of conditions.

import type { Run } from '../api/types';
import { formatCount } from '../base/format';

export const runs = 'Recorded runs';
export const runsNotLoaded = 'Could not load recorded runs';
export const columns = {
  run: 'Run',
  program: 'Program',
  steps: 'Steps',
  ranks: 'Ranks',
  ended: 'Ended',
  size: 'Log size',
  started: 'Started',
};
export const endNames: Record<NonNullable<Run['ended']>, string> = {
  exit: 'Finished',
  exception: 'Exception',
  terminated: 'Terminated',
  closed: 'Closed',
  lost: 'Process died',
};
export const recording = 'Recording';
export const stepRange = (first: number, last: number) => `${formatCount(first)} to ${formatCount(last)}`;
export const continues = (name: string) => `continues ${name}`;
export const damagedFiles = (count: number) => `${formatCount(count)} damaged ${count === 1 ? 'file' : 'files'}`;

// Step slider.
export const stepsOfRun = 'Steps of the run';
export const step = 'Step';
export const sliderText = (step: number, last: number) => `step ${formatCount(step)} of ${formatCount(last)}`;
export const previousStep = 'Previous step';
export const nextStep = 'Next step';
export const play = 'Play';
export const pausePlaying = 'Stop playing';
export const playHint = 'Shows one step after the other';
export const previousHit = 'Previous hit';
export const nextHit = 'Next hit';
export const noHitBefore = 'No hit at an earlier step';
export const noHitAfter = 'No hit at a later step';
export const firstStepShown = 'This is the first recorded step';
export const lastStepShown = 'This is the last recorded step';
export const curveOf = (name: string) => `Curve of ${name}`;
export const curveShown = 'Curve above the slider';
export const noSteps = 'No steps were recorded';
export const notRecordedStep = (nearest: number) => `not recorded; the nearest step is ${formatCount(nearest)}`;
export const goToStep = (step: number) => `Go to step ${formatCount(step)}`;
export const modeNames = { unknown: 'mode unknown', train: 'training', eval: 'evaluation', predict: 'prediction' };
export const reasons = {
  overhead: 'left out to limit the overhead',
  not_due: 'no collection was due',
  unfinished: 'ended before the step did',
};
export const withPasses = (count: number, mode: string) => `${formatCount(count)} ${count === 1 ? 'pass' : 'passes'} of ${mode}`;

// The last ops of the ranks.
export const lastOps = 'Last op of each rank';
export const opsInProgress = 'Ops in progress';
export const lastOpRank = (rank: number) => `rank ${rank}`;
export const lastOpIn = 'in';
export const lastOpAfter = 'after';
export const unknownOp = 'an op that was not written yet';
export const lastOpPlace = (step: number, order: number, began: Date) =>
  `op ${formatCount(order)} of step ${formatCount(step)}, begun ${began.toLocaleTimeString()}`;

// What users have changed in the program.
export const userChanges = 'Changes by users';
export const changedInStep = (step: number) => `changed in step ${formatCount(step)}`;
export const changedBy = (user: string, time: Date) => `${user === '' ? '' : `by ${user}, `}${time.toLocaleTimeString()}`;

// How to begin.
export const firstSteps: Array<[string, string]> = [
  ['Move', 'the slider, ← and → go through the recorded steps'],
  ['Check', 'find the steps at which a condition matches'],
  ['Inspect', 'select a node to see its statistics at each step'],
];

// Values.
export const notSaved = 'Values not recorded';

// Comparison of runs and ranks.
export const compareRuns = 'Compare';
export const compareWithRun = 'Compare with the run';
export const compareWithRank = 'Rank to compare with';
export const noOther = 'choose a run';
export const thisRun = 'this run';
export const rankName = (rank: number) => `rank ${rank}`;
export const comparing = 'Comparing';
export const notCompared = 'Could not compare';
export const nothingInCommon = 'No tensor was recorded on both sides in the same step.';
export const allAgree = (tensors: number, steps: number) => `${agreeing(tensors, steps)} agree`;
export const firstDifference = 'First difference';
export const nextDifferences = 'Later differences';
export const differsIn = (measure: string, here: string, there: string) => `${measure} ${here}, there ${there}`;
export const onlyHere = (count: number) => `${formatCount(count)} ${count === 1 ? 'tensor' : 'tensors'} only here`;
export const onlyThere = (count: number) => `${formatCount(count)} only there`;
export const inputsEqual = (count: number) => (count === 1 ? 'its input is still equal' : `its ${formatCount(count)} inputs are still equal`);
export const inputsDiffer = (names: readonly string[]) => `${names.length === 1 ? 'input differs' : 'inputs differ'}: ${names.join(', ')}`;
export const inputsNotRecorded = (names: readonly string[]) => `not recorded: ${names.join(', ')}`;
export const attributeDiffers = (name: string, here: string | null, there: string | null) =>
  `called with ${name} ${here ?? 'none'}, there ${there ?? 'none'}`;
export const inputIsOther = (here: string | null, there: string | null) => `reads ${here ?? 'nothing'}, there ${there ?? 'nothing'}`;
export const changedInPlace = (tensor: string, here: string | null, there: string | null) =>
  here === null ? `only there, ${tensor} is changed in place before, by ${there}` : `only here, ${tensor} is changed in place before, by ${here}`;
export const namedThere = (name: string) => `there ${name}`;
export const renamed = (count: number) => `${formatCount(count)} ${count === 1 ? 'name differs' : 'names differ'}`;
export const renaming = (from: string, to: string, nodes: number) => `${from} → ${to}${nodes > 1 ? ` (${formatCount(nodes)} nodes)` : ''}`;
export const showBothGraphs = 'Show both graphs';
export const bothGraphs = 'Both graphs';
export const closeBothGraphs = 'Close both graphs';
export const openOther = 'Open the other run at this node';
export const graphNotShown = 'Could not show the graph';
export const sideTitle = (run: string, rank: number, step: number) => `${run}, rank ${rank}, step ${formatCount(step)}`;
export const comparisonTerms = 'Tolerance and names';
export const termNames = { rtol: 'Relative tolerance', atol: 'Absolute tolerance', calibrate: 'Calibrate with', map: 'Renamed (OLD=NEW, …)', by: 'Compare' };
export const termHints = { rtol: 'automatic', atol: '0', map: 'encoder=model/encoder' };
export const byNames = { statistics: 'statistics', digest: 'all bits, by digest' };
export const noCalibration = 'none';
export const applyTerms = 'Compare again';

const agreeing = (tensors: number, steps: number) =>
  `${formatCount(tensors)} ${tensors === 1 ? 'tensor' : 'tensors'} in ${formatCount(steps)} ${steps === 1 ? 'step' : 'steps'}`;

// Checks.
export const checks = 'Checks';
export const addCheck = 'Check a condition';
export const noChecks = 'No checks yet';
export const whatChecksDo = 'A check finds the steps and tensors at which a condition matches, in everything that was recorded.';
export const newCheck = 'New check';
export const runCheck = 'Check';
export const removeCheck = 'Remove check';
export const checkFailed = 'Check failed';
export const checkNotRemoved = 'Could not remove the check';
export const progress = (done: number, total: number) => `${formatCount(done)} of ${formatCount(total)} steps`;
export const hitsFound = (count: number) => (count === 0 ? 'no hits' : `${formatCount(count)} ${count === 1 ? 'hit' : 'hits'}`);
export const notRecorded = (count: number) => `${formatCount(count)} not recorded`;
export const notRecordedHint = 'What the condition needs was not recorded for these tensors. Quantiles and channels are computed from recorded values.';
export const onValues = 'checked on saved values';
export const hitAt = (step: number, rank: number, several: boolean) =>
  several ? `step ${formatCount(step)}, rank ${rank}` : `step ${formatCount(step)}`;
export const firstHits = (count: number) => `The first ${formatCount(count)} hits`;
