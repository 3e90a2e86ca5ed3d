// Texts about the ranks of a job.

export const ranks = 'Ranks';
export const ranksByState = 'Ranks by state';
export const rankState = (rank: number, state: string, step: number) => [`Rank ${rank}`, state, `step ${step}`];
export const ranksInState = (count: number, state: string) => `${count} ${state.toLowerCase()}`;
export const step = (step: number) => `step ${step}`;
export const process = 'process';
export const device = 'device';
export const pausedAt = 'paused at';
export const at = 'at';
export const switchToRank = (rank: number) => `Switch to rank ${rank}`;
export const alreadyShown = 'This rank is already shown.';
export const compareWithRank = (rank: number) => `Compare with rank ${rank}`;
export const sameRank = 'A rank cannot be compared with itself.';
export const rank = 'Rank';
export const of = (count: number) => `of ${count}`;

// The grid of a large job.
export const colourBy = 'Colour ranks by';
export const colourings = { state: 'State', step: 'Step', hits: 'Hits', norm: 'L2 norm of the selected node' } as const;
export const gridOfRanks = (count: number) => `${count} ranks; arrow keys move, Enter shows the rank`;
export const range = (least: string, most: string) => `${least} to ${most}`;
export const notKnown = 'not known';
export const asking = 'Asking the ranks…';
export const standOut = 'Stand out';
export const noneStandsOut = 'No rank stands out.';
export const cellValue = (by: keyof typeof colourings, value: string) => (by === 'norm' ? `L2 norm ${value}` : '');
