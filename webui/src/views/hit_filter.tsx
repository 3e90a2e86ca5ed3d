// Which hits are shown.

import { FilterX } from 'lucide-react';
import { useMemo } from 'react';
import type { Hit } from '../api/types';
import { countByWatchpoint } from '../state/hit_index';
import { useJob } from '../state/job_store';
import { labelOf } from '../base/names';
import { NO_FILTER, setHitFilter, useUi } from '../state/ui';
import { useConditionText } from '../state/condition_text';
import { Button } from '../widgets/button';

const chosen = (text: string) => (text === '' ? null : Number(text));

export function HitFilterBar({ hits }: { hits: readonly Hit[] }) {
  const filter = useUi((state) => state.hit_filter);
  const watchpoints = useJob((state) => state.model.watchpoints);
  const ranks = useJob((state) => state.model.info?.ranks ?? null);
  // Those that were removed have hits too.
  const ids = useMemo(
    () => [...new Set([...watchpoints.map(({ id }) => id), ...countByWatchpoint(hits).keys()])].sort((a, b) => a - b),
    [watchpoints, hits],
  );
  const { conditionText } = useConditionText();
  const nameOf = (id: number) => {
    const known = watchpoints.find((other) => other.id === id);
    return known === undefined ? `${id}` : `${id} ${conditionText(known.condition.id, known.condition.params)}`;
  };
  const filtered = Object.values(filter).some((value) => value !== null && value !== false);
  return (
    <div className="hit-filter" role="group" aria-label="Filter hits">
      <select
        className="field"
        aria-label="Watchpoint of hits"
        value={filter.watchpoint ?? ''}
        onChange={(event) => setHitFilter({ watchpoint: chosen(event.target.value) })}
      >
        <option value="">all watchpoints</option>
        {ids.map((id) => (
          <option key={id} value={id}>
            {nameOf(id)}
          </option>
        ))}
      </select>
      {ranks !== null && ranks.length > 1 && (
        <select
          className="field hit-filter-rank"
          aria-label="Rank of hits"
          value={filter.rank ?? ''}
          onChange={(event) => setHitFilter({ rank: chosen(event.target.value) })}
        >
          <option value="">ranks</option>
          {ranks.map(({ rank }) => (
            <option key={rank} value={rank}>
              {rank}
            </option>
          ))}
        </select>
      )}
      <input
        className="field mono hit-filter-step"
        aria-label="Step of hits"
        placeholder="step"
        inputMode="numeric"
        value={filter.step ?? ''}
        onChange={(event) => {
          if (/^\d*$/.test(event.target.value)) setHitFilter({ step: chosen(event.target.value) });
        }}
      />
      <label className="hit-filter-origin" title="Without hits whose inputs were bad already">
        <input
          type="checkbox"
          checked={filter.origins}
          onChange={(event) => setHitFilter({ origins: event.target.checked })}
        />
        not propagated
      </label>
      {filter.node !== null && (
        <button
          type="button"
          className="tag hit-filter-node ellipsis"
          title={`Only hits of ${filter.node}. Click to show those of others too.`}
          onClick={() => setHitFilter({ node: null })}
        >
          {labelOf(filter.node)} ✕
        </button>
      )}
      {filtered && (
        <Button
          label="Show all hits"
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
