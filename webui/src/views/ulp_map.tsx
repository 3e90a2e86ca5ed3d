// How far two tensors are apart in units in the last place: how many elements at which distance,
// and where they are.

import type { Comparison } from '../api/types';
import { formatCount } from '../base/format';
import type { ValueQuery } from '../state/queries';
import { Notice } from '../widgets/notice';
import * as words from '../words/tensor_views';
import { ReducedMap } from './reduced_map';

// The distance, in units in the last place, that this share of the elements has at most. The server counts
// distances of 0, 1, 2 to 3, 4 to 7 and so on.
function distanceOf(share: number, counts: readonly number[]): number {
  const all = counts.reduce((sum, count) => sum + count, 0);
  let some = 0;
  const place = counts.findIndex((count) => (some += count) >= share * all);
  return 2 ** Math.max(0, place) - 1;
}

// "60 of 72 equal; half within 3 ulp, 99 % within 12 ulp".
function ulpSpread({ ulp_counts, max_ulps }: Pick<Comparison, 'ulp_counts' | 'max_ulps'>): string {
  const counts = ulp_counts ?? [];
  const within = (share: number) => formatCount(Math.min(distanceOf(share, counts), max_ulps ?? Infinity));
  const all = counts.reduce((sum, count) => sum + count, 0);
  return words.ulpSpread(formatCount(counts[0] ?? 0), formatCount(all), within(0.5), within(0.99));
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
      <h3>{ulpSpread(comparison)}</h3>
      <ReducedMap query={query} title={words.ways.ulps} of="ulps" against={against} />
    </section>
  );
}
