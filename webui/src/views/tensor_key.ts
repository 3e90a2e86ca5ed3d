import type { TensorSummary } from '../api/types';

// How the address names a tensor of a node: "0" the first output, "in0" the first
// input.
export function tensorKey(tensor: Pick<TensorSummary, 'role' | 'index'>): string {
  return tensor.role === 'input' ? `in${tensor.index}` : String(tensor.index);
}
