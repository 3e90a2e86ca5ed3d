// Texts of the histogram, the history and the comparison of tensors, which are loaded
// when first opened.

// Histogram.
export const histogram = 'Histogram';
export const histogramKeys = 'Left and right move between bars.';
export const noHistogram = 'No histogram available';
export const loadingHistogram = 'Loading histogram';
export const bins = 'Bins';
export const binCount = (count: number) => `${count} bins`;
export const logCounts = 'log counts';
export const inThisSlice = (finite: string) => `in this slice: ${finite}`;
export const notFinite = (count: string) => `, ${count} not finite`;
export const barCount = (bar: string, elements: string) => `${bar}: ${elements}`;

// History.
export const historyOf = (name: string) => `History of ${name}`;
export const historyKeys = 'Left and right move between steps.';
export const historyNotLoaded = 'Could not load history';
export const loadingHistory = 'Loading history';
export const noHistory = 'No history';
export const noHistoryYet = 'No history yet';
export const knownSteps = 'Only inspected or watched steps have data.';
export const stepsRecorded = (steps: string) => `${steps} recorded`;
export const someSteps = (some: string, all: string) => `${some} of ${all} steps`;
export const withHits = (count: string) => `, ${count} with hits`;
export const shownStatistics = 'Statistics shown';
export const logScale = 'log';
export const hitAtStep = (step: number, condition: string) => `Hit at step ${step}: ${condition}`;
export const atStep = (step: number, text: string) => `Step ${step}: ${text}`;
export const stepFigures = (step: number, text: string) => `step ${step}: ${text}`;

// Recording values for the history or a comparison.
export const nowRecording = {
  history: (id: number) => `Watchpoint ${id} records its history at every step.`,
  previous: (id: number) => `Watchpoint ${id} keeps previous-step values. Run one step to compare with it.`,
};
export const recorderDeleted = (id: number) => `Watchpoint ${id}, which recorded its values, was deleted.`;
export const recorderDisabled = (id: number) => `Watchpoint ${id}, which recorded its values, is disabled.`;
export const recordOffers = { history: 'Record history', previous: 'Keep previous values' };
export const recordHint = 'Adds a watchpoint that never pauses the job';
export const runOneStep = 'Run one step';
export const enable = 'Enable watchpoint';

// Comparison.
export const compareWith = 'Compare with';
export const previousStep = 'the previous step';
export const anotherStep = 'another step';
export const anotherRank = 'another rank';
export const anotherLayer = 'the same op in another layer';
export const anotherTensor = 'another tensor';
export const anotherRun = 'a recorded run';
export const sameOpElsewhere = 'Compare with the same op in';
export const rankToCompare = 'Rank to compare with';
export const rank = (rank: number) => `rank ${rank}`;
export const step = (step: number) => `step ${step}`;
export const toCompare = {
  step: 'Step to compare with',
  layer: 'Layer to compare with',
  tensor: 'Tensor to compare with',
  run: 'Run to compare with',
};
export const sameStep = 'same step';
export const placeholders = { tensor: 'scope/node:slot' };
export const choose = { previous: '', rank: 'Choose a rank', step: 'Choose a step', tensor: 'Choose a tensor', run: 'Choose a run' };
export const stepGone = (step: string) => `Values of step ${step} are not kept`;
export const keptSteps = (steps: readonly number[]) =>
  `A job has the values of its current step, and of the step before where they are recorded. ${
    steps.length === 0 ? '' : `Compare with step ${steps.join(' or ')}. `
  }For other steps, stop there and download the values, or record the history.`;
// For recorded runs.
export const onlyStatistics = 'The values were not recorded on both sides, so only the statistics can be compared.';
export const statisticsCompared = 'Statistics of both sides';
export const statistic = 'Statistic';
export const specialCounts = { nan: 'NaN', pos_inf: '+Inf', neg_inf: '−Inf' };
export const savedSteps = (steps: readonly number[]) => {
  if (steps.length === 0) return 'No other values of this tensor were recorded.';
  const some = steps.slice(0, 3).toSorted((a, b) => a - b);
  const others = steps.length > some.length ? ', and others' : '';
  return `Recorded: ${steps.length === 1 ? 'step' : 'steps'} ${some.join(', ')}${others}.`;
};
export const nothingToCompare = 'Nothing to compare with';
export const loadingBoth = 'Loading both tensors';
export const shapesDiffer = 'Shapes differ';
export const shown = 'Show';
export const ways = {
  values: 'values',
  elements: 'first differences',
  heat: 'heat maps',
  ulps: 'ULP map',
  histograms: 'histograms',
};
// The list of the first elements that are not close.
export const noDifferences = 'All elements are close';
export const differencesListed = (listed: number, some: string, all: string) =>
  some === all
    ? `${listed === 1 ? 'The only element' : `All ${all} elements`} outside the tolerance`
    : `The first ${some} of ${all} elements outside the tolerance`;
export const element = 'Element';
export const goToElement = 'Go to this element';
// Distances in units in the last place.
export const noUlps = 'No distances in ULP';
export const whyNoUlps = 'They need floating-point values of the same type on both sides.';
export const ulpSpread = (equal: string, all: string, half: string, most: string) =>
  `${equal} of ${all} equal; half within ${half} ulp, 99 % within ${most} ulp`;
export const wholeTensor = 'whole tensor';
export const wholeHint = (elements: string) => `Compares all ${elements} elements instead of the slice`;
export const tooManyValues = 'There are too many elements to show all values. Choose another view.';
export const bothHistograms = 'Histograms of both sides';
export const differenceHistogram = 'Histogram of the difference';
export const noFinite = 'No finite values';
export const histogramSummary = (title: string, from: string, to: string, most: string) =>
  `${title}: from ${from} to ${to}, at most ${most} values in a bin`;
export const comparison = 'Comparison';
export const equalButNotFinite = (count: string) => `equal, but none of ${count} is finite`;
export const allClose = (count: string) => `all ${count} close`;
export const notClose = (some: string, all: string, percent: string) => `${some} of ${all} not close (${percent} %)`;
export const largestDifference = (size: string, index: string) => `largest difference ${size} at ${index}`;
export const atMostUlps = (count: string) => `at most ${count} ulp`;
export const figures = {
  verdict: 'allclose',
  equal: 'equal',
  meanAbs: 'mean |Δ|',
  rms: 'rms Δ',
  maxRelative: 'max relative',
  cosine: 'cosine',
  notFinite: 'not finite',
  oneSidedNan: 'NaN on one side',
  firstAt: 'first at',
};
export const notFiniteHint = 'Pairs with NaN or infinity, excluded from the differences';
export const difference = 'difference';
export const heatMapTitle = (title: string) => `Heat map: ${title}`;
export const valuesTitle = (title: string) => `Values: ${title}`;
export const heatMapSummary = (title: string, rows: number, columns: number) =>
  `${title}: ${rows} by ${columns} values`;
