// Texts about likely causes of hits.

export const noHit = 'No hit of this tensor';
export const adviceAppears = 'Likely causes appear here when a watchpoint matches it.';
export const loadingAdvice = 'Loading advice';
export const noAdvice = 'No advice for this condition';
export const likelyCauses = 'Likely causes';
export const lookNext = 'What to look at next';
export const sentBy = (rank: number, collective: string) => `From rank ${rank}, through ${collective}:`;
export const hitAt = (condition: string, step: number) => `${condition} in step ${step}:`;
