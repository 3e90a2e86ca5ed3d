// Texts of the command palette and of the list of keyboard shortcuts.

export const commandOrNode = 'Command or node';
export const placeholder = 'Type a command or part of a node name';
export const commandsAndNodes = 'Commands and nodes';
export const node = 'node';

export const groups = { run: 'Run', go: 'Go', watch: 'Watch', view: 'View', ranks: 'Ranks', cause: 'Cause' };
export const continueToSelected = 'Continue to selected node';
export const nextHit = 'Next hit';
export const previousHit = 'Previous hit';
export const noHits = 'There are no hits.';
export const addWatchpoint = 'Add watchpoint…';
export const addRecommended = 'Add recommended watchpoints';
export const alreadyAdded = 'Already added.';
export const stopAtFirstNan = 'Stop at the first NaN or infinity';
export const stopIfNotLearning = 'Stop if the training does not learn';
export const onlyPyTorch = 'Only PyTorch programs in Python test that.';
export const showOverview = 'Show overview of modules over steps';
export const showGraph = 'Show graph';
export const maximizePanel = 'Maximize node panel';
export const copyLink = 'Copy link to this view';

export const shortcutList = 'List of keyboard shortcuts';
