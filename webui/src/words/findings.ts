// Texts about the findings of rules.

import { formatCount } from '../base/format';

export const findings = 'Findings';
export const found = (rule: string, step: number, message: string) => `Rule ${rule}, step ${step}: ${message}`;
export const stepAt = (step: number, rank: number | null, several: boolean) =>
  several && rank !== null ? `step ${formatCount(step)}, rank ${rank}` : `step ${formatCount(step)}`;
export const newest = (shown: number, total: number) => `Newest ${formatCount(shown)} of ${formatCount(total)} findings`;
