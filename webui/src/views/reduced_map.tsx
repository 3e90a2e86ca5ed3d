// A heat map that the server has reduced to as many blocks of elements as are shown.

import { lazy, Suspense, useMemo, useState } from 'react';
import type { MapRequest } from '../api/client';
import type { TensorMap } from '../api/http';
import { computedElements } from '../base/elements';
import { formatNumber } from '../base/format';
import { describe } from '../state/describe';
import { useTensorMap, type ValueQuery } from '../state/queries';
import { gridOf } from '../widgets/grid_data';
import { Notice } from '../widgets/notice';
import { loading } from '../words/common';
import * as words from '../words/tensor_map';

const HeatMap = lazy(async () => ({ default: (await import('../widgets/heat_map')).HeatMap }));

interface Props {
  query: ValueQuery;
  title: string;
  of?: MapRequest['of'];
  // The other side of a comparison.
  against?: string;
}

// The elements of a block, counted in rows and columns of the slice, and what they are like.
function blockText(map: TensorMap, at: number, ulps: boolean): string {
  const across = map.blocks[1];
  const range = (block: number, size: number, count: number) => {
    const first = block * size;
    const last = Math.min(count, first + size) - 1;
    return first === last ? String(first) : `${first}–${last}`;
  };
  const rows = range(Math.floor(at / across), map.block[0], map.grid[0]);
  const columns = range(at % across, map.block[1], map.grid[1]);
  const [min, max, mean] = [map.min[at], map.max[at], map.mean[at]].map((value) => formatNumber(value));
  if (ulps) return words.ulpBlock(rows, columns, min ?? '', max ?? '', mean ?? '');
  return words.block(rows, columns, min ?? '', max ?? '', mean ?? '', map.non_finite[at] ?? 0);
}

// Distances in units in the last place range from 1 to billions, so their colours grow with the logarithm.
const logarithmic = (distances: Float32Array) => distances.map((ulps) => Math.log2(1 + ulps));

export function ReducedMap({ query, title, of = 'left', against }: Props) {
  const map = useTensorMap(query, of, against ?? null);
  const ulps = of === 'ulps';
  const [active, setActive] = useState(0);
  const [hovered, setHovered] = useState<number | null>(null);
  const grid = useMemo(
    () =>
      map.data === undefined
        ? null
        : gridOf(computedElements(ulps ? logarithmic(map.data.extreme) : map.data.extreme), map.data.blocks),
    [map.data, ulps],
  );
  if (map.error !== null) return <Notice title={words.noMap}>{describe(map.error)}</Notice>;
  if (map.data === undefined || grid === null) return <Notice title={words.loadingMap} busy />;
  if (grid.count === 0) return <Notice title={words.emptyMap} />;
  const at = Math.min(active, grid.count - 1);
  return (
    <div className="reduced-map">
      <Suspense fallback={<Notice title={loading} busy />}>
        <HeatMap
          grid={grid}
          label={words.mapTitle(title)}
          summary={words.mapSummary(title, map.data.grid, map.data.block)}
          scale={grid.scale}
          active={at}
          onActive={setActive}
          onHover={setHovered}
        />
      </Suspense>
      <footer className="values-foot">
        <span className="mono ellipsis">{blockText(map.data, hovered ?? at, ulps)}</span>
      </footer>
    </div>
  );
}
