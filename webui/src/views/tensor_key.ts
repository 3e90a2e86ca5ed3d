import type { TensorSummary } from '../api/types';

// The name of a node's tensor in the address: "0" is the first output, "in0" the first
// input.
export function tensorKey(tensor: Pick<TensorSummary, 'role' | 'index'>): string {
  return tensor.role === 'input' ? `in${tensor.index}` : String(tensor.index);
}
