// Texts about the graph: the drawing, the node tree, search and the menu of a node.

// Drawing.
export const graph = 'Graph';
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
export const searchPlaceholder = 'Search nodes  /';
export const clearSearch = 'Clear search';
export const searchHint = 'Words in names or op types, ';
export const searchResults = 'Search results';
export const searchFailed = 'Search failed';
export const invalidSearch = 'Invalid search';
export const searching = 'Searching';
export const noResults = 'No results';
export const nothingMatches = (text: string) => `Nothing matches “${text}”. Words match names or op types; all must match.`;
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
export const copyFullName = 'Copy full name';
