// Texts of the overview: modules over the steps.

import type { OverviewMeasure } from '../api/types';
import { formatCount, formatNumber } from '../base/format';

export const modulesOverSteps = 'Modules over steps';
export const loadingOverview = 'Loading the overview';

// What is shown.
export const shown = 'What the overview shows';
export const views: Record<OverviewMeasure, string> = {
  activation: 'Activation',
  gradient: 'Gradient',
  update: 'Update',
  zeros: 'Zeros',
  non_finite: 'NaN/Inf',
  time: 'Time',
};
export const measureTexts: Record<OverviewMeasure, string> = {
  activation: 'mean |x| of results',
  gradient: 'L2 norm of the parameters’ gradients',
  update: '|Δw| / |w| of parameters',
  zeros: 'share of zeros in results',
  non_finite: 'NaN and infinities in results, gradients and parameters',
  time: 'time in the calls of ops, forward and backward',
};
export const combined = {
  mean: (count: number) => `mean of ${formatCount(count)} modules`,
  norm: (count: number) => `norm over ${formatCount(count)} modules`,
  largest: (count: number) => `largest of ${formatCount(count)} modules`,
  sum: (count: number) => `in ${formatCount(count)} modules`,
};
export const outside = '(no module)';
export const ownValues = '(itself)';
export function formatMeasure(measure: OverviewMeasure, value: number): string {
  if (Number.isNaN(value)) return notMeasured;
  if (measure === 'time') return milliseconds(value);
  return measure === 'zeros' ? `${formatNumber(value * 100, 3)} %` : formatNumber(value, 4);
}
export const badValues = (count: number) => `${formatCount(count)} NaN/Inf`;

// Legend and facts.
export const legend = (what: string) => `Legend: ${what}`;
export const finite = 'finite';
export const notMeasured = 'not measured';
export const notFinite = 'NaN or infinity';
export const measuringTime = (share: number) => `measured in ${formatNumber(share * 100, 2)} % of the time`;
export const ownCode = (share: number) => `graphdbg takes ${formatNumber(share * 100, 2)} % of a step`;
export const everyStep = (stride: number) =>
  `every ${stride === 2 ? '2nd' : stride === 3 ? '3rd' : `${formatCount(stride)}th`} step`;
export const stepsShown = (first: number, last: number) =>
  first === last ? `step ${formatCount(first)}` : `steps ${formatCount(first)} to ${formatCount(last)}`;

// Why there is nothing.
export const noOverview = 'No overview';
export const nothingYet = 'The overview begins with the first step.';
export const afterThisStep = 'The overview appears after the first complete step.';
export const switchedOff =
  'This job measures none: it was started with GRAPHDBG_OVERVIEW=0 or --no-overview, or its agent is too old.';
export const nothingRecorded = 'This run has none: no layers, losses, gradients or weights were recorded.';
export const otherRanks = (rank: number, ranks: readonly number[]) =>
  `Rank ${rank} has no overview; ${ranks.length === 1 ? `rank ${ranks[0]} has` : `ranks ${ranks.join(', ')} have`} one.`;
export const oldServer = 'This server has no overview: it is too old.';

// Loss and time.
export const loss = 'Loss';
export const noLoss = 'no loss found';
export const lossCurve = (known: string) => `Loss: ${known}`;
export const lossFrom = (first: string, last: string, bad: number) =>
  `from ${first} to ${last}${bad > 0 ? `, not finite in ${formatCount(bad)} ${bad === 1 ? 'step' : 'steps'}` : ''}`;
export const lossNotFinite = 'loss is NaN or infinite';
export const lossIs = (value: number) => `loss ${formatNumber(value, 4)}`;
export const hits = (count: number) => `${formatCount(count)} ${count === 1 ? 'hit' : 'hits'}`;
export const durations = 'Time of each step';
export const durationsOf = (most: string) => `Time of each step, at most ${most}`;
export const milliseconds = (value: number) => (value >= 1000 ? `${formatNumber(value / 1000, 3)} s` : `${formatNumber(value, 3)} ms`);
export const tookTime = (duration: string, measuring: string) => `${duration}, of which measuring ${measuring}`;
export const step = (step: number) => `step ${formatCount(step)}`;
export const training = 'training';
export const runModes = { train: 'training', eval: 'evaluation', predict: 'prediction', unknown: 'mode unknown' };
export const measuring = 'measuring';

// The ops of a step.
export const opsOfStep = (step: number) => `Ops of step ${formatCount(step)}`;
export const opsOverTime = 'Ops over time';
export const loadingOps = 'Loading the ops';
export const chooseStep = 'Step whose ops are shown';
export const newestStep = 'newest';
export const callsOnly = 'Time of the call; kernels on a GPU run later.';
export const opsLeftOut = (count: number) => `${formatCount(count)} more ops are left out`;
export const thread = (number: number) => `thread ${number}`;
export const phases = { activation: 'forward', gradient: 'backward', optimizer: 'optimizer', other: 'other' };
export const microseconds = (value: number) => (value >= 1000 ? milliseconds(value / 1000) : `${formatNumber(value, 3)} µs`);
export const shareOfStep = (share: number) => `${formatNumber(share * 100, 2)} % of the step`;
export const opTime = (duration: number, step: number) => `${microseconds(duration)}, ${shareOfStep(duration / step)}`;
export const opsCount = (ops: number, threads: number, duration: number) =>
  `${formatCount(ops)} ${ops === 1 ? 'op' : 'ops'} on ${formatCount(threads)} ${threads === 1 ? 'thread' : 'threads'} in ${microseconds(duration)}`;
export const opsPicture = (step: number, count: string, slowest: string) => `${opsOfStep(step)}: ${count}. Slowest: ${slowest}.`;
export const opKeys =
  'Left and right go to the ops of a thread, up and down to other threads, Enter selects the op in the graph, plus, minus and 0 zoom.';
export const slowestOps = 'Slowest ops';
export const opColumns = { op: 'Op', time: 'Time', share: 'Of step' };
export const percent = (share: number) => `${formatNumber(share * 100, 2)} %`;
export const wholeStep = 'Show the whole step';
export const wholeShown = 'The whole step is shown.';
export const zoomInTime = 'Zoom in on time';
export const zoomOutTime = 'Zoom out of time';

// The picture.
export const pictureKeys =
  'Arrow keys move between modules and steps, Enter goes to the module, Space opens or closes a group, D shows the distribution, plus, minus and 0 zoom.';
export const zoomIn = 'Zoom in on steps';
export const zoomOut = 'Zoom out';
export const allSteps = 'Show all steps';
export const allShown = 'All steps are shown.';
export const openGroups = 'Open all groups';
export const closeGroups = 'Close all groups';
export const fitRows = 'Fit rows to view';
export const asTable = 'Show as table';
export const pictureOf = (what: string, modules: number, rows: number, steps: number) =>
  `${what}: ${formatCount(modules)} ${modules === 1 ? 'module' : 'modules'} in ${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'} over ${formatCount(steps)} ${steps === 1 ? 'step' : 'steps'}.`;
export const noneBad = 'Everything is finite.';
export const firstBad = (module: string, step: number, rows: number) =>
  `NaN or infinity first in ${module} at step ${formatCount(step)}; in ${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'}.`;

// Table.
export const columns = { module: 'Module', last: 'Last', least: 'Least', greatest: 'Greatest', bad: 'Steps with NaN/Inf' };

// Distribution.
export const distribution = (module: string) => `Distribution of ${module}`;
export const closeDistribution = 'Close distribution';
export const loadingDistribution = 'Loading the distribution';
export const noDistribution = 'Its results were not measured.';
export const severalModules = 'A group has no distribution. Open it and choose a module.';
export const bands = { range: 'min to max', most: '5 to 95 %', half: '25 to 75 %', median: 'median', mean: 'mean', deviation: '± std' };
export const figures = (points: Array<[string, number | null]>) =>
  points
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${formatNumber(value, 3)}`)
    .join(' · ');
export const figureNames = { min: 'min', low: '5 %', median: 'median', high: '95 %', max: 'max', mean: 'mean', deviation: 'std' };
export const curvesOf = (module: string) => `Curves of ${module}`;
export const lastValue = (name: string, value: string) => `${name}, last ${value}`;
