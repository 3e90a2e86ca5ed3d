// How far two tensors are apart in units in the last place: how many elements at which distance,
// and where they are.

import type { Comparison } from '../api/types';
import { formatCount } from '../base/format';
import type { ValueQuery } from '../state/queries';
import { Notice } from '../widgets/notice';
import * as words from '../words/tensor_views';
import { ReducedMap } from './reduced_map';

// "60 equal, 12 at 8–15 ulp". The server counts distances of 0, 1, 2 to 3, 4 to 7 and so on.
export function ulpSpread(counts: readonly number[]): string {
  const parts = counts.map((count, i) => {
    const first = 2 ** (i - 1);
    const last = 2 * first - 1;
    if (i === 0) return words.equalElements(formatCount(count));
    const distance = first === last ? formatCount(first) : `${formatCount(first)}–${formatCount(last)}`;
    return words.atUlps(formatCount(count), distance);
  });
  return parts.filter((_, i) => (counts[i] ?? 0) > 0).join(', ');
}

interface Props {
  comparison: Comparison;
  query: ValueQuery;
  against: string;
}

export function UlpMap({ comparison, query, against }: Props) {
  if (comparison.ulp_counts === null) return <Notice title={words.noUlps}>{words.whyNoUlps}</Notice>;
  return (
    <section className="compare-ulps" aria-label={words.ways.ulps}>
      <h3>
        {words.ulpDistances} <span className="mono">{ulpSpread(comparison.ulp_counts)}</span>
      </h3>
      <ReducedMap query={query} title={words.ways.ulps} of="ulps" against={against} />
    </section>
  );
}
