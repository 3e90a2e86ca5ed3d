// The filter of the list of hits.

import { FilterX } from 'lucide-react';
import { useMemo } from 'react';
import type { Hit } from '../api/types';
import { countByWatchpoint } from '../state/hit_index';
import { useJob } from '../state/job_store';
import { formatCount } from '../base/format';
import { labelOf } from '../base/names';
import { NO_FILTER, setHitFilter, useUi } from '../state/ui';
import { useConditionText } from '../state/condition_text';
import { Button } from '../widgets/button';
import * as words from '../words/hits';

const chosen = (text: string) => (text === '' ? null : Number(text));

export function HitFilterBar({ hits }: { hits: readonly Hit[] }) {
  const filter = useUi((state) => state.hit_filter);
  const watchpoints = useJob((state) => state.model.watchpoints);
  const ranks = useJob((state) => state.model.info?.ranks ?? null);
  // Watchpoints that were removed may still have hits.
  const ids = useMemo(
    () => [...new Set([...watchpoints.map(({ id }) => id), ...countByWatchpoint(hits).keys()])].sort((a, b) => a - b),
    [watchpoints, hits],
  );
  const absorbed = useJob(({ model }) => model.info?.absorbed_hit_count ?? 0);
  const { conditionText } = useConditionText();
  const nameOf = (id: number) => {
    const known = watchpoints.find((other) => other.id === id);
    return known === undefined ? `${id}` : `${id} ${conditionText(known.condition.id, known.condition.params)}`;
  };
  const filtered = Object.values(filter).some((value) => value !== null && value !== false);
  return (
    <div className="hit-filter" role="group" aria-label={words.filterHits}>
      <select
        className="field"
        aria-label={words.filterByWatchpoint}
        value={filter.watchpoint ?? ''}
        onChange={(event) => setHitFilter({ watchpoint: chosen(event.target.value) })}
      >
        <option value="">{words.allWatchpoints}</option>
        {ids.map((id) => (
          <option key={id} value={id}>
            {nameOf(id)}
          </option>
        ))}
      </select>
      {ranks !== null && ranks.length > 1 && (
        <select
          className="field hit-filter-rank"
          aria-label={words.filterByRank}
          value={filter.rank ?? ''}
          onChange={(event) => setHitFilter({ rank: chosen(event.target.value) })}
        >
          <option value="">{words.allRanks}</option>
          {ranks.map(({ rank }) => (
            <option key={rank} value={rank}>
              {rank}
            </option>
          ))}
        </select>
      )}
      <input
        className="field mono hit-filter-step"
        aria-label={words.filterByStep}
        placeholder={words.stepPlaceholder}
        inputMode="numeric"
        value={filter.step ?? ''}
        onChange={(event) => {
          if (/^\d*$/.test(event.target.value)) setHitFilter({ step: chosen(event.target.value) });
        }}
      />
      <label className="hit-filter-origin" title={words.originsOnlyHint}>
        <input
          type="checkbox"
          checked={filter.origins}
          onChange={(event) => setHitFilter({ origins: event.target.checked })}
        />
        {words.originsOnly}
      </label>
      {(absorbed > 0 || filter.absorbed) && (
        <label className="hit-filter-origin" title={words.absorbedOnlyHint}>
          <input
            type="checkbox"
            checked={filter.absorbed}
            onChange={(event) => setHitFilter({ absorbed: event.target.checked })}
          />
          {words.absorbedOnly(formatCount(absorbed))}
        </label>
      )}
      {filter.node !== null && (
        <button
          type="button"
          className="tag hit-filter-node ellipsis"
          title={words.onlyNode(filter.node)}
          onClick={() => setHitFilter({ node: null })}
        >
          {labelOf(filter.node)} ✕
        </button>
      )}
      {filtered && (
        <Button
          label={words.showAllHits}
          icon={FilterX}
          iconOnly
          small
          tone="quiet"
          onClick={() => setHitFilter(NO_FILTER)}
        />
      )}
    </div>
  );
}
