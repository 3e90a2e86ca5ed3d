// Many ranks in small cells, coloured by what the user chooses.

import { useMemo, useState } from 'react';
import type { Job, Rank } from '../api/types';
import { outliersFirst, RANK_COLOURS, shares, type RankColour } from '../state/rank_order';
import { stateWords } from '../state/words';
import * as words from '../words/ranks';
import './rank_grid.css';

interface Props {
  job: Job;
  hits: ReadonlyMap<number, number>;
  current: number;
  chosen: number;
  onChoose: (rank: number) => void;
  textOf: (rank: Rank) => string;
}

function StateCounts({ job }: { job: Job }) {
  const counts = Object.entries(job.rank_states ?? {}) as [Rank['state'], number][];
  return (
    <p className="rank-grid-counts">
      {counts.map(([state, count]) => (
        <span key={state}>
          <i className={`rank-dot rank-${state}`} aria-hidden /> {words.ranksInState(count, stateWords(state, null))}
        </span>
      ))}
    </p>
  );
}

export function RankGrid({ job, hits, current, chosen, onChoose, textOf }: Props) {
  const [colour, setColour] = useState<RankColour>('state');
  const [sorted, setSorted] = useState(true);
  const ranks = useMemo(
    () => (sorted ? outliersFirst(job.ranks, hits) : job.ranks),
    [job.ranks, hits, sorted],
  );
  const share = useMemo(
    () => shares(job.ranks, ({ rank, step }) => (colour === 'hits' ? (hits.get(rank) ?? 0) : step)),
    [job.ranks, hits, colour],
  );
  return (
    <>
      <StateCounts job={job} />
      <div className="rank-grid-choices">
        <label>
          {words.colourBy}{' '}
          <select value={colour} onChange={(event) => setColour(event.target.value as RankColour)}>
            {RANK_COLOURS.map((each) => (
              <option key={each} value={each}>
                {words.colours[each]}
              </option>
            ))}
          </select>
        </label>
        <label>
          <input type="checkbox" checked={sorted} onChange={() => setSorted(!sorted)} /> {words.outliersFirst}
        </label>
      </div>
      <div className="rank-grid" role="group" aria-label={words.ranksBy(words.colours[colour])}>
        {ranks.map((each) => (
          <button
            key={each.rank}
            type="button"
            tabIndex={each.rank === chosen ? 0 : -1}
            className={`rank-tile${colour === 'state' ? ` rank-${each.state}` : ''}${each.rank === current ? ' rank-tile-here' : ''}`}
            style={colour === 'state' ? undefined : { ['--share' as string]: `${100 * (share.get(each.rank) ?? 0)}%` }}
            data-shaded={colour !== 'state'}
            aria-label={textOf(each)}
            aria-pressed={each.rank === chosen}
            title={textOf(each)}
            onClick={() => onChoose(each.rank)}
          />
        ))}
      </div>
    </>
  );
}
