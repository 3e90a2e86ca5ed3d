// Texts about the ranks of a job.

export const ranks = 'Ranks';
export const ranksByState = 'Ranks by state';
export const rankState = (rank: number, state: string, step: number) => [`Rank ${rank}`, state, `step ${step}`];
export const colourBy = 'Colour by';
export const colours = { state: 'state', step: 'step', hits: 'hits' };
export const ranksBy = (what: string) => `Ranks by ${what}`;
export const outliersFirst = 'Outliers first';
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
