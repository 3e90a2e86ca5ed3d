// The hits of a job one by one, and a filter for them.

import type { Hit } from '../api/types';
import { HitFilterBar } from './hit_filter';
import { HitList } from './hit_list';

export function AllHits({ hits, total }: { hits: readonly Hit[]; total: number }) {
  return (
    <>
      <HitFilterBar hits={hits} />
      <HitList hits={hits} total={total} />
    </>
  );
}
