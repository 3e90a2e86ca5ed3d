// Matches conditions with the devices of a job.

import type { Condition, Rank } from '../api/types';

// Backend names of the condition catalogue, by the device names of agents and of MindSpore.
const BACKENDS: Record<string, string> = { cuda: 'cuda', gpu: 'cuda', npu: 'ascend', ascend: 'ascend' };

// Returns whether at least one rank has a device that the condition supports. Every rank has tensors
// in host memory.
export function canBeChecked(condition: Condition, ranks: readonly Rank[]): boolean {
  return condition.backends.some(
    (backend) => backend === 'cpu' || ranks.some((rank) => BACKENDS[rank.device.toLowerCase()] === backend),
  );
}
