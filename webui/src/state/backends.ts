// Where a job has tensors, in the words of the catalogue of conditions.

import type { Condition, Rank } from '../api/types';

// By what agents and MindSpore's jobs call their devices.
const BACKENDS: Record<string, string> = { cuda: 'cuda', gpu: 'cuda', npu: 'ascend', ascend: 'ascend' };

// Whether some rank has tensors on which it can be checked; all have some in the
// host's memory.
export function canBeChecked(condition: Condition, ranks: readonly Rank[]): boolean {
  return condition.backends.some(
    (backend) => backend === 'cpu' || ranks.some((rank) => BACKENDS[rank.device.toLowerCase()] === backend),
  );
}
