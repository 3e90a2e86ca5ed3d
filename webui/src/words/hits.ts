// Texts about hits and their list.

export const hits = 'Hits';
export const log = 'Log';
export const hitsAndLog = 'Hits and log';
export const hitCount = (count: number) => `${count} hits`;
export const noHits = 'No hits';
export const hitsAppear = 'Tensors that match a watchpoint’s condition are listed here.';
export const noneMatchFilter = 'No hits match the filter';
export const hitsNotLoaded = 'Could not load hits';
export const loadAll = 'Load all';
export const hitsNotShown = 'Hits that are not shown';
export const shownOf = (newest: boolean, shown: string, total: string) =>
  `${newest ? 'Newest ' : ''}${shown} of ${total} hits`;
export const filterForOlder = '; filter to see older ones';
export const onlyCounted = (kept: string) => `; only the first ${kept} are stored, later ones are counted`;
export const lost = (count: string) => `; ${count} lost because the job could not send them fast enough`;
export const step = (step: number) => `Step ${step}`;
export const rank = (rank: number) => `Rank ${rank}`;

export const origin = 'started here';
export const originHint = 'Origin: inputs were finite';
export const propagated = 'passed on';

export const absorbed = 'reached no result';

// Filter.
export const filterHits = 'Filter hits';
export const filterByWatchpoint = 'Filter by watchpoint';
export const filterByRank = 'Filter by rank';
export const filterByStep = 'Filter by step';
export const allWatchpoints = 'all watchpoints';
export const allRanks = 'ranks';
export const stepPlaceholder = 'step';
export const originsOnly = 'origins only';
export const originsOnlyHint = 'Hide propagated hits';
export const absorbedOnly = (count: string) => `${count} absorbed`;
export const absorbedOnlyHint =
  'Infinities that reached no result, like log(0) in a branch that torch.where discards. They do not stop training.';
export const onlyNode = (node: string) => `Only hits of ${node} are shown. Click to show all nodes.`;
export const showAllHits = 'Show all hits';
