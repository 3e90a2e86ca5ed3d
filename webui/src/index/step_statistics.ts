// Reads the statistics of a step: see proto/docs/step-statistics.md.

import { indexTruncated, missingColumn } from '../words/graph';
import { readHeader } from './columns';

interface Header {
  step: number;
  rank: number;
  complete?: boolean;
  columns: Record<string, { type: 'u8' | 'u32' | 'u64' | 'f64'; offset: number; count: number }>;
}

type Numbers = Uint8Array | Uint32Array | Float64Array;

// By record: a node may have several, for its outputs and executions.
export interface StepStatistics {
  step: number;
  rank: number;
  // No tensor is missing that could have been measured.
  complete: boolean;
  count: number;
  // Number of the node in the graph's index.
  node: Numbers;
  flags: Numbers;
  size: Numbers;
  nan: Numbers;
  infinite: Numbers;
  zeros: Numbers;
  abs_mean: Numbers;
  abs_max: Numbers;
  l2: Numbers;
}

const BYTES = { u8: 1, u32: 4, u64: 8, f64: 8 } as const;

export function readStepStatistics(body: ArrayBuffer): StepStatistics {
  const { header, start } = readHeader<Header>(body);
  const column = (name: string): Numbers => {
    const found = header.columns[name];
    if (found === undefined) throw new Error(missingColumn(name));
    const begin = start + found.offset;
    if (begin + found.count * BYTES[found.type] > body.byteLength) throw new Error(indexTruncated);
    switch (found.type) {
      case 'u8':
        return new Uint8Array(body, begin, found.count);
      case 'u32':
        return new Uint32Array(body, begin, found.count);
      case 'u64':
        return Float64Array.from(new BigUint64Array(body, begin, found.count), Number);
      default:
        return new Float64Array(body, begin, found.count);
    }
  };
  const node = column('node');
  const above = column('pos_inf_count');
  const below = column('neg_inf_count');
  return {
    step: header.step,
    rank: header.rank,
    complete: header.complete ?? true,
    count: node.length,
    node,
    flags: column('flags'),
    size: column('count'),
    nan: column('nan_count'),
    infinite: Float64Array.from(above, (count, i) => count + (below[i] as number)),
    zeros: column('zero_count'),
    abs_mean: column('abs_mean'),
    abs_max: column('abs_max'),
    l2: column('l2'),
  };
}
