// Texts about the graph: the drawing, the node tree, search and the menu of a node.

// Drawing.
export const graph = 'Graph';
export const overview = 'Overview';
export const graphOrOverview = 'Graph or overview';
export const graphView = 'Graph view';
export const graphKeys =
  'Arrow keys pan, Enter opens or closes the selected scope. The node tree shows the same scopes.';
export const shownGraph = 'Graph shown';
export const unknownGraph = 'unknown';
export const graphOption = (name: string, nodes: string) => `${name} · ${nodes} nodes`;
export const zoomIn = 'Zoom in';
export const zoomOut = 'Zoom out';
export const fitGraph = 'Fit graph to view';
export const goToCurrentNode = 'Go to current node';
export const noCurrentNode = 'There is no current node.';
export const noGraph = 'No graph yet';
export const beforeFirstStep = 'Modules in the order of their definition. Ops and edges appear as the first step runs.';
export const graphAppears = 'The graph appears during the first step. Press Step or Continue.';

// Neighbourhood of a node.
export const neighbourhood = 'Neighbourhood';
export const showWholeGraph = 'Show whole graph';
export const wholeGraph = 'Whole graph';
export const around = 'Around';
export const distance = 'Distance';
export const decreaseDistance = 'Decrease distance';
export const increaseDistance = 'Increase distance';
export const minimumDistance = 'Minimum distance reached.';
export const maximumDistance = 'Maximum distance reached.';
export const nearestOnly = (nodes: string) => `nearest ${nodes} only`;

// Legend.
export const legend = 'Legend';
export const hideLegend = 'Hide legend';
export const legendHits = 'hits';
export const legendOrigin = 'hits, started here';
export const legendPropagated = 'passed on';
export const legendWatched = 'watched';
export const legendCategories = ['activation', 'gradient', 'optimizer', 'weight'] as const;

// Node tree.
export const nodes = 'Nodes';
export const nodesBySource = 'Nodes by source line';
export const graphNotLoaded = 'Could not load the graph';
export const loadingGraph = 'Loading the graph';
export const noNodes = 'No nodes yet';
export const nodesAppear = 'Nodes appear during the first step.';
export const noSourceLines = 'No source lines';
export const noSourceLocations = 'No source locations available.';
export const groupBySource = 'Group by source line';
export const groupedByScope = 'Not available while selecting nodes for a watchpoint.';
export const graphIncomplete = 'The full graph is not available.';
export const openAllScopes = 'Open all scopes';
export const closeAllScopes = 'Close all scopes';
export const loadFailed = 'failed to load';
export const currentNode = 'current node';

// Search.
export const searchNodes = 'Search nodes';
export const searchPlaceholder = 'Search nodes or code  /';
export const foundIn = (place: string, code: string) => `${place}: ${code}`;
export const clearSearch = 'Clear search';
export const searchHint = 'Words in names, op types or code, ';
export const searchResults = 'Search results';
export const searchFailed = 'Search failed';
export const invalidSearch = 'Invalid search';
export const searching = 'Searching';
export const noResults = 'No results';
export const nothingMatches = (text: string) => `Nothing matches “${text}”. Words match names, op types, functions or code; all must match.`;
export const results = (count: string, one: boolean) => `${count} ${one ? 'result' : 'results'}`;
export const firstResults = (shown: string) => `First ${shown}`;
export const moreResults = 'More results';

// Menu of a node.
export const goToNode = 'Go to node';
export const openScope = 'Open';
export const closeScope = 'Close';
export const showNeighbourhood = 'Show neighbourhood';
export const watch = 'Watch…';
export const watchInside = 'Watch everything inside…';
export const stopAtNan = 'Stop at NaN or infinity';
export const breakOn = (place: string) => `Break on ${place}`;
export const breakOnOp = 'Break on this op';
export const stopAtNanInAll = (type: string) => `Stop at NaN in all ${type}`;
export const copyFullName = 'Copy full name';

// Contents of a box.
export const nodeCount = (count: number) => `${count} ${count === 1 ? 'node' : 'nodes'}`;

// Badges of nodes that differ from those of another run.
export const differenceBadges = { first: '1st ≠', later: '≠', only_here: 'only here' };

// Badge of a box with values that are not finite.
export const nonFiniteBadge = (nan: boolean, infinite: boolean) => (nan && infinite ? 'NaN Inf' : nan ? 'NaN' : 'Inf');

// Statistics of a tensor in the neighbourhood.
export const nanCount = (count: string) => `${count} NaN`;
export const infinityCount = (count: string, above: boolean, below: boolean) =>
  `${count} ${above ? (below ? '±' : '+') : '-'}Inf`;
export const emptyTensor = 'empty';
export const magnitude = (max: string, mean: string | null) => `|max| ${max}${mean === null ? '' : ` · mean ${mean}`}`;
export const ofStep = (step: number) => ` · step ${step}`;

// The drawing for screen readers.
export const nothingRecorded = 'Graph: nothing recorded yet.';
export const shownNodes = (nodes: string, open: string, closed: string) => `Graph: ${nodes}, ${open} and ${closed} shown`;
export const currentIs = (node: string) => `current node: ${node}`;
export const withHits = (boxes: string) => `${boxes} with hits`;
export const areWatched = (boxes: string) => `${boxes} watched`;
export const selectedIs = (node: string) => `selected: ${node}`;

// Source lines without their code.
export const sourceLine = (line: number) => `line ${line}`;

// Problems of a search.
export const unknownCategory = (text: string, known: readonly string[]) =>
  `Unknown category “${text}”. Use one of: ${known.join(', ')}.`;
export const unknownKind = (text: string, known: readonly string[]) =>
  `Unknown kind “${text}”. Use one of: ${known.join(', ')}.`;

// Problems of the graph's index.
export const indexTruncated = 'the graph index is truncated';
export const notAnIndex = 'the response is not a graph index';
export const indexVersion = (found: number | undefined, expected: number) =>
  `unsupported graph index version ${found}: expected ${expected}`;
export const missingColumn = (name: string) => `the graph index has no column ${name}`;
