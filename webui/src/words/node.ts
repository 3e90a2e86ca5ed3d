// Texts about the selected node: its header, a scope's contents and the source.

export const node = 'Node';
export const loadingNode = 'Loading node';
export const nodeNotLoaded = (name: string | null) => `Could not load ${name}`;
export const didNotRun = (name: string | null, rank: number, several: boolean) =>
  several ? `${name} did not run on rank ${rank}` : `${name} has not run`;
export const loadingTensors = 'Loading tensors';
export const noTensors = 'No tensors';
export const stepRange = (first: number, last: number) => (last > first ? `steps ${first}–${last}` : `step ${first}`);
export const stepRangeHint = 'First and last step in which this node ran';
export const documentationOf = (type: string) => `Documentation of ${type}`;
export const showHits = 'Show the hits of this node';
export const watch = 'Watch';
export const addWatchpointOn = (label: string) => `Add a watchpoint on ${label}`;
export const continueHint = 'Continue until this node has run';
export const maximizePanel = 'Maximize panel';
export const restoreLayout = 'Restore layout';

// Scope.
export const scopeClass = 'Class';
export const contents = 'Contents';
export const contentsOf = (children: string, nodes: string) => `${children}, ${nodes}`;
export const watchedLabel = 'Watched';
export const watchedShare = { all: 'all nodes', some: 'some nodes', none: 'no nodes' };
export const hitsInside = 'Hits inside';
export const parameters = 'Parameters';
export const none = 'none';

export const parametersOf = (count: string, elements: string) => `${count}, ${elements}`;
export const parameterColumns = { name: 'Name', shape: 'Shape', weight: 'mean |w|', gradient: '|g| L2' };
export const opTypes = 'Ops by type';
export const findOps = (type: string) => `Search for the ops of type ${type}`;
export const scopeOutputs = 'Outputs';
export const ofStep = (step: number) => ` at step ${step}`;
export const outputFigures = (max: string, mean: string) => `|max| ${max} · mean ${mean}`;

// Parameter.
export const training = 'Training';
export const gradient = 'Gradient';
export const gradientNorm = '|g| L2';
export const gradientMean = 'mean |g|';
export const gradientZeros = 'zeros';
export const gradientRatio = '|g| / |w|';
export const ofAll = (some: string, all: string) => `${some} of ${all}`;
export const requiresGrad = 'True: backward computes its gradient';
export const requiredGrad = 'True';
export const notReached = 'True, but backward does not reach it: it has no gradient';
export const frozen = 'False: frozen';
export const noGradient = 'False, or backward does not reach it: it has no gradient';
export const noGradientShort = 'none';
export const gradientUnknown = 'unknown';

// Source.
export const source = 'Source';
export const noSource = (kind: string) => `No source location available for this ${kind}.`;
export const opsFromLine = (ops: string) => `${ops} from this line`;
export const firstOps = (count: string) => `First ${count} ops`;
export const showOps = (place: string) => `Show ops from ${place}`;
export const showLine = (place: string) => `Show ${place} and its ops`;
export const copyPathAndLine = 'Copy path and line';
export const wholeFile = 'Whole file';
export const hitsColumn = 'hits';
export const opsColumn = 'ops';
export const lineNumber = (line: number) => `line ${line}`;
export const unknownLines = (count: string) => `⋯ ${count} without ops`;
export const stack = 'Call stack';
export const hideLibrary = 'hide library frames';
export const showLibrary = (frames: string) => `show ${frames}`;
export const attributes = 'Attributes';
