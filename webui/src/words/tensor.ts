// Texts about tensors: their table, values, slices and statistics.

import type { SliceProblem } from '../base/slice';

export const tensors = 'Tensors';
export const tensorColumns = { index: '#', tensor: 'Tensor', shape: 'Shape', range: 'Range', mean: 'Mean' };
export const outputs = 'Outputs';
export const inputs = 'Inputs';
export const atStep = (step: string) => `at step ${step}`;
export const showValues = (name: string) => `Show values of ${name}`;

// Views.
export const values = 'Values';
export const tensorViews = 'Tensor views';
export const views = {
  values: 'Values',
  heat: 'Heat map',
  histogram: 'Histogram',
  history: 'History',
  compare: 'Compare',
  ranks: 'Ranks',
  advice: 'Advice',
};
export const viewCommands: Record<keyof typeof views, string> = {
  values: 'Show values',
  heat: 'Show heat map',
  histogram: 'Show histogram',
  history: 'Show history',
  compare: 'Show comparison',
  ranks: 'Show differences between ranks',
  advice: 'Show advice',
};
export const loadingValues = 'Loading values';
export const noValue = 'No value available';
export const willBeCaptured = 'The value will be captured when the op runs next. Step or continue.';
export const captureNotSet = 'Could not request the value';
export const stepToCapture = 'Run one step to see it';
export const captureNext = 'Capture when it runs next';
export const captureNextHint = 'Keeps the value when the op runs next, at whichever step the job stops after it';
export const failedOp = 'The op failed';
export const failedOpText = 'It has no output. Its inputs have the values that it failed with.';
export const noValues = 'No values';
export const modelNotRun = 'This model was opened without being run, so it has no values.';
export const jobEnded = 'The job has ended; tensor values are no longer available. Their history remains.';
export const showHistory = 'Show history';
export const jobRunning = 'The job is running';
export const valuesAfterPause = 'Values are loaded when it pauses.';
export const stepOfValues = 'Step of values';
export const currentStep = 'current step';
export const previousStep = 'previous step';
export const step = (step: string | number) => `step ${step}`;
export const fromLastPause = ', from the last pause';
export const slotName = (role: 'input' | 'output', index: number) => `${role} ${index}`;
export const overwritten = 'overwritten in place';
export const overwrittenHint = 'An op has written to this memory since';
export const scaledBy = (factor: string) => `scaled by ${factor}`;
export const scaledHint = 'Values are multiplied by the loss scale; statistics are of the unscaled gradients';

// Values in a grid or as colours.
export const valuesOf = (name: string) => `Values of ${name}`;
export const heatMapOf = (name: string) => `Heat map of ${name}`;
export const typeNotShown = (dtype: string) => `Values of type ${dtype} cannot be displayed`;
export const downloadInstead = 'Download the tensor instead.';
export const emptySlice = 'Empty slice';
export const shapeIs = (shape: string) => `Its shape is ${shape}.`;
export const gridSummary = (rows: number, columns: number, scale: string, specials: string) =>
  `${rows} by ${columns} values, magnitude up to ${scale}, ${specials}`;
export const allFinite = 'all finite';
// Values that are not finite.
export const specialNames = { nan: 'NaN', inf: '+Inf', neg_inf: '-Inf' };
export const specialMarks = { nan: '✕ NaN', inf: '▲ +Inf', neg_inf: '▼ -Inf' };
// In the narrow cells of a grid.
export const cellMarks = { nan: '✕ NaN', inf: '▲ Inf', neg_inf: '▼ -Inf' };
export const colourScale = 'Colour scale';
export const lockScale = 'Lock colour scale';
export const unlockScale = 'Unlock colour scale';
export const lockScaleHint = 'Keep this colour scale to compare steps by eye';
export const scaleLocked = (scale: string) => `Colour scale locked at ${scale}`;
export const nextSpecial = (inSlice: string, all: string) =>
  inSlice === all ? `Next NaN/Inf (${all})` : `Next NaN/Inf (${inSlice} in this slice, ${all} in all)`;
export const nextSpecialHint = 'Goes through the whole tensor, slice by slice';
export const searchFailed = 'Could not search the tensor';
export const zoomOutHeat = 'Zoom out of the heat map';
export const zoomInHeat = 'Zoom into the heat map';
export const wholeHeat = 'Show the whole heat map';
export const heatKeys = 'Arrow keys move between cells, + and - zoom, 0 shows all.';

// Slice.
export const slice = 'Slice';
export const sliceHint = 'NumPy indexing, for example [0, :, 10:20, ...] or [:, :].T; press Enter to apply';
export const tooManyElements = (count: string, most: string) =>
  `${count} elements; at most ${most} can be shown at once`;
export function sliceProblem(problem: SliceProblem): string {
  switch (problem.kind) {
    case 'not_a_range':
      return `"${problem.text}" is not an index or a range`;
    case 'out_of_bounds':
      return `index ${problem.index} is out of bounds for axis ${problem.axis} with size ${problem.size}`;
    case 'too_many':
      return `${problem.given} indices for a tensor with ${problem.axes} axes`;
    case 'missing_index':
      return 'missing index between commas';
    case 'zero_step':
      return 'the step must not be 0';
    case 'bracket':
      return 'unmatched bracket';
    case 'ellipses':
      return 'only one "..." is allowed';
  }
}
export const transpose = 'Transpose';
export const transposeHint = 'Swap rows and columns, like NumPy’s .T';
export const axes = 'Axes';
export const rows = 'rows';
export const columns = 'columns';
export const axis = (axis: number) => `axis ${axis}`;
export const axisOption = (axis: number, size: number) => `axis ${axis} · ${size}`;
export const indexOnAxis = (axis: number) => `Index on axis ${axis}`;

// Statistics.
export const statistics = 'Statistics';
export const allStatistics = 'All statistics';
export const wholeTensor = 'whole tensor';
export const wholeTensorAt = (step: string) => `whole tensor, step ${step}`;
export const wholeTensorHint = 'Statistics of the whole tensor, not only of this slice';
export const statisticNames = {
  count: 'count',
  elements: 'elements',
  min: 'min',
  max: 'max',
  mean: 'mean',
  std: 'std',
  abs_max: 'abs max',
  abs_mean: 'abs mean',
  variance: 'variance',
  l1: 'L1',
  l2: 'L2',
  zeros: 'zeros',
  negative: 'negative',
  positive: 'positive',
  p50: 'median',
  p99: 'p99',
};
export const statisticHints = {
  min: 'Smallest finite value',
  max: 'Largest finite value',
  mean: 'Mean of the finite values',
  abs_max: 'Largest absolute value, ignoring NaN and infinity',
  l2: 'Euclidean norm of the finite values',
  std: 'Standard deviation of the finite values',
  p50: 'Half of the finite values are at most this (within 0.8 %)',
  p99: '99 % of the finite values are at most this (within 0.8 %)',
};
export const quantileHint = (percent: number) => `${percent} % of the finite values are at most this (within 0.8 %)`;

export const notFiniteCount = (count: string) => `${count} NaN/Inf`;

// Copying and downloading.
export const copyOrDownload = 'Copy or download';
export const copyAsTable = 'Copy values as a table';
export const copyAsLists = 'Copy values as Python lists';
export const copiedValues = (shape: string) => `${shape} values`;
export const downloadNpy = 'Download tensor as .npy';
export const downloadSafetensors = 'Download tensor as .safetensors';
export const downloadBundle = 'Download bundle of the hit (holds values)';
export const downloadFailed = 'Download failed';
export const nothingToCopy = 'No values to copy.';
export const tooManyToCopy = (most: string) => `At most ${most} elements can be copied; choose a smaller slice.`;
export const pauseFirst = 'The job must be paused.';
