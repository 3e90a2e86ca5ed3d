// Measured values in words, where the bare figures need explanation.

import type { Hit } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import { toNumber, type Num } from '../base/numbers';
import * as words from '../words/watch';

// The limits of a range, as in "between -1 and 1" or "≤ 0"; empty if there are none.
export function rangeText(params: Readonly<Record<string, unknown>>): string {
  const limit = (name: string) => {
    const value = params[name];
    const finite = typeof value === 'number' && Number.isFinite(value);
    return finite ? formatNumber(value) : null;
  };
  const [from, to] = [limit('range_start_inclusive'), limit('range_end_inclusive')];
  if (from === null) return to === null ? '' : words.atMost(to);
  return to === null ? words.atLeast(from) : words.between(from, to);
}

function rangeShare(share: Num, { params }: Hit): string | null {
  const range = rangeText(params);
  if (range === '') return null;
  if ('range_percentage_lt' in params && toNumber(share) < 1) return words.saturated(range);
  return sharesOf(formatNumber(share), range, params['range_end_inclusive'] === 0 && toNumber(share) === 100);
}

const sharesOf = (percent: string, range: string, dead: boolean) =>
  words.shareOf(`${percent} %`, range) + (dead ? words.deadRelu : '');

// A sentence for a measure, or null if its name and figure say it.
export function measuredText(measure: string, value: Num, hit: Hit): string | null {
  const all = toNumber(value) === 100;
  // The statistics are of the whole tensor.
  const count = hit.statistics === null || 'channel' in hit.actual ? '' : formatCount(hit.statistics.count);
  switch (measure) {
    case 'zero_percentage':
      return all ? words.allZero(count) : null;
    case 'inactive_percentage':
      return sharesOf(formatNumber(value), words.atMost('0'), all);
    case 'changed_count':
      return toNumber(value) === 0 ? words.unchanged : null;
    case 'range_percentage':
      return rangeShare(value, hit);
    default:
      return null;
  }
}
