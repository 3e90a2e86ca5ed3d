// Texts about incidents and the causes of hits.

import type { Incident } from '../api/types';

export const incidents = 'Incidents';
export const allHits = 'All hits';
export const showIncidents = 'Hits with one cause are one incident.';
export const showAllHits = 'Each tensor that matched, in execution order.';
export const newest = (shown: number, total: string) => `The first ${shown} of ${total} incidents`;
export const unfold = 'Show its hits';
export const fold = 'Hide its hits';
export const mute = 'Mute';
export const muteHint = 'Mute this node, or its watchpoints for some steps';
export const muteNode = 'Mute this node';
const watchpoints = (ids: readonly number[]) => `watchpoint${ids.length === 1 ? '' : 's'} ${ids.join(', ')}`;
export const muteUntil = (ids: readonly number[], step: number) => `Mute ${watchpoints(ids)} until step ${step}`;
export const unmuteWatchpoints = (ids: readonly number[]) => `Unmute ${watchpoints(ids)}`;
export const onlyHidden = (watchpoint: number) => `The incident is only hidden: watchpoint ${watchpoint} still stops there`;
export const notMuted = (watchpoint: number) => `Could not mute watchpoint ${watchpoint}`;
export const unmute = (count: number) => `Show ${count} muted`;
export const loadingHits = 'Loading hits';

// "step 3", "steps 1 to 3, each step", "steps 1, 4 to 6".
export function stepsOf(ranges: Incident['steps']): string {
  const texts = ranges.map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`));
  const [only] = ranges;
  if (ranges.length === 1 && only !== undefined) {
    return only.first === only.last ? `step ${texts[0]}` : `steps ${texts[0]}, each step`;
  }
  const shown = texts.length > 4 ? [...texts.slice(0, 2), '…', ...texts.slice(-1)] : texts;
  return `steps ${shown.join(', ')}`;
}
export const reached = (tensors: string) => `reached ${tensors}`;
export const firstReached = (label: string) => `, first ${label}`;
export const tensors = (count: number, text: string) => `${text} ${count === 1 ? 'tensor' : 'tensors'}`;
export const firstRank = (rank: number) => `Rank ${rank}: began here`;
export const rank = (rank: number) => `Rank ${rank}`;
export const onRanks = (ranks: readonly number[], first: number) =>
  `On ${ranks.length === 1 ? 'rank' : 'ranks'} ${ranks.join(', ')}; began on rank ${first}`;
export const headline = (title: string) => `${title} · `;
export const ofStep = (step: number) => ` · step ${step}`;
export const onRank = (rank: number) => ` · rank ${rank}`;

// The card.
export const cause = 'Likely cause';
export const toTry = 'Try:';
