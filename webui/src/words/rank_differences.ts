// Texts about the differences between the ranks of a job.

import { formatCount, formatNumber } from '../base/format';

// The statistics that are compared.
export const columns = { nan: 'NaN', inf: 'Inf', mean: 'mean', abs_max: 'abs max', l2: 'L2' };
export type Column = keyof typeof columns;

// What the comparison has found.
export type Verdict =
  // Fewer than two ranks of one step are known.
  | { kind: 'unknown' }
  | { kind: 'same' }
  // No rank stands out.
  | { kind: 'varied' }
  | { kind: 'no_rank_is_finite' }
  | { kind: 'not_finite'; ranks: number[]; nan: number; inf: number }
  // Most ranks have the value `usual`, which is null where that is none.
  | { kind: 'apart'; ranks: number[]; column: Column; value: number | null; usual: number | null }
  // The value is `times` that of the ranks in the middle.
  | { kind: 'scale'; ranks: number[]; column: Column; value: number; times: number };

export const rank = 'Rank';
export const step = 'step';
export const ranksOf = (tensor: string) => `${tensor} on the ranks`;
export const tableOf = (tensor: string) => `Statistics of ${tensor} by rank`;
export const showRank = (rank: number) => `Show rank ${rank}`;
export const shown = 'shown';
export const notKnown = 'not known';
export const comparing = 'Comparing the ranks';
export const more = (count: number) => `Show ${count} more ranks`;
export const shownOf = (shown: number, all: number) => `${shown} of ${all} ranks compared`;

// "Rank 3", "Ranks 1 and 3", "Ranks 0, 1, 2 and 5 more".
const MAX_NAMED = 4;

function named(ranks: readonly number[]): string {
  if (ranks.length === 1) return `Rank ${ranks[0]}`;
  const rest = ranks.length - MAX_NAMED;
  const names = rest > 0 ? [...ranks.slice(0, MAX_NAMED), `${rest} more`] : ranks;
  return `Ranks ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

const differ = (ranks: readonly number[]) => `${named(ranks)} ${ranks.length === 1 ? 'differs' : 'differ'}`;
const number = (value: number | null) => (value === null ? 'none' : formatNumber(value, 4));

function specials(nan: number, inf: number): string {
  const parts = [nan > 0 ? `${formatCount(nan)} NaN` : '', inf > 0 ? `${formatCount(inf)} Inf` : ''];
  return parts.filter((part) => part !== '').join(', ');
}

// `known`: the number of ranks that were compared.
export function sentence(verdict: Verdict, known: number): string {
  switch (verdict.kind) {
    case 'unknown':
      return 'Known on fewer than two ranks.';
    case 'same':
      return `The same on all ${known} ranks.`;
    case 'varied':
      return `All finite on ${known} ranks; none stands out.`;
    case 'no_rank_is_finite':
      return `NaN or Inf on all ${known} ranks.`;
    case 'not_finite':
      return `${differ(verdict.ranks)}: ${specials(verdict.nan, verdict.inf)}; all others finite.`;
    case 'apart':
      return `${differ(verdict.ranks)}: ${columns[verdict.column]} ${number(verdict.value)}; ${number(verdict.usual)} on all others.`;
    case 'scale': {
      const times = Number.isFinite(verdict.times) ? `${formatNumber(verdict.times, 2)} × that of most others` : 'zero on most others';
      return `${differ(verdict.ranks)}: ${columns[verdict.column]} ${number(verdict.value)}, ${times}.`;
    }
  }
}

export function rankText(rank: number, marked: readonly Column[], known: boolean): string {
  if (!known) return `Rank ${rank}: ${notKnown}`;
  return marked.length === 0 ? `Rank ${rank}` : `Rank ${rank} differs in ${marked.map((column) => columns[column]).join(', ')}`;
}
