// How much two tensors differ: a sentence and figures.

import { CircleCheck, CircleX } from 'lucide-react';
import type { ComparedPair, Comparison } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import { parseSlice } from '../base/slice';
import { toNumber } from '../base/numbers';
import * as words from '../words/tensor_views';

// The index in the tensor of an element whose index in the slice is known.
export function indexInTensor(index: readonly number[], slice: string, shape: readonly number[]): readonly number[] {
  const parsed = parseSlice(slice, shape);
  if (!parsed.ok) return index;
  let at = 0;
  return parsed.axes.map(({ start, step, dropped }) => (dropped ? start : start + step * (index[at++] ?? 0)));
}

function verdictOf(comparison: Comparison): { text: string; tone: string } {
  const { count, all_close, not_close_count, non_finite_count } = comparison;
  const all = formatCount(count);
  if (all_close && non_finite_count === count) return { text: words.equalButNotFinite(all), tone: '' };
  if (all_close) return { text: words.allClose(all), tone: 'compare-close' };
  const share = not_close_count / Math.max(1, count);
  return { text: words.notClose(formatCount(not_close_count), all, formatNumber(share * 100, 3)), tone: 'compare-apart' };
}

// "12 of 640 not close (1.88 %); largest difference 0.03 at [3, 7]; at most 12 ulp"
export function sentenceOf(comparison: Comparison, place: (pair: ComparedPair) => string): string {
  const { max_abs_difference: most, max_abs_at: at, max_ulps: ulps } = comparison;
  const parts = [verdictOf(comparison).text];
  if (most !== null && at !== null && toNumber(most) > 0) parts.push(words.largestDifference(formatNumber(most), place(at)));
  if (ulps !== null && ulps > 0) parts.push(words.atMostUlps(formatCount(ulps)));
  return parts.join('; ');
}

interface Props {
  comparison: Comparison;
  // The shape of the tensor on this side.
  shape: readonly number[];
  // Goes to the first element that is not close.
  onGo: (first: ComparedPair) => void;
}

export function CompareFigures({ comparison, shape, onGo }: Props) {
  const { first_not_close: first, slice } = comparison;
  const place = ({ index }: ComparedPair) => `[${indexInTensor(index, slice, shape).join(', ')}]`;
  const oneSided = comparison.left_nan_count + comparison.right_nan_count - 2 * comparison.both_nan_count;
  const facts: Array<[string, string]> = [
    [words.figures.equal, formatCount(comparison.equal_count)],
    [words.figures.meanAbs, formatNumber(comparison.mean_abs_difference)],
    [words.figures.rms, formatNumber(comparison.rms_difference)],
    [words.figures.maxRelative, formatNumber(comparison.max_relative_difference)],
    [words.figures.cosine, formatNumber(comparison.cosine, 7)],
  ];
  return (
    <dl className="stats compare-figures" aria-label={words.comparison}>
      <div className={verdictOf(comparison).tone}>
        {comparison.all_close ? <CircleCheck aria-hidden size={14} /> : <CircleX aria-hidden size={14} />}
        <dt className="visually-hidden">{words.figures.verdict}</dt>
        <dd>{sentenceOf(comparison, place)}</dd>
      </div>
      {first !== null && (
        <div>
          <dt>{words.figures.firstAt}</dt>
          <dd>
            <button type="button" className="link mono compare-first" onClick={() => onGo(first)}>
              {place(first)}
            </button>
          </dd>
        </div>
      )}
      {facts.map(([label, text]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd className="mono">{text}</dd>
        </div>
      ))}
      {comparison.non_finite_count > 0 && (
        <div title={words.notFiniteHint}>
          <dt>{words.figures.notFinite}</dt>
          <dd className="mono">{formatCount(comparison.non_finite_count)}</dd>
        </div>
      )}
      {oneSided > 0 && (
        <div>
          <dt>{words.figures.oneSidedNan}</dt>
          <dd className="mono">{formatCount(oneSided)}</dd>
        </div>
      )}
    </dl>
  );
}
