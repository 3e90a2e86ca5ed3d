// The ranks of a job in a small matrix, to switch to one or to compare with it.

import { ChevronDown, Columns3, Eye } from 'lucide-react';
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import type { Job, Rank } from '../api/types';
import { useJob } from '../state/job_store';
import { patchRoute } from '../state/router';
import { touch } from '../state/ui';
import { stateWords } from '../state/words';
import { Button } from '../widgets/button';
import { GuideLink } from '../widgets/guide_link';
import { selectNodeFirst } from '../words/common';
import * as counts from '../words/counts';
import { processName } from '../words/job';
import * as words from '../words/ranks';
import { useJobContext } from './job_context';
import './ranks.css';

const RankGrid = lazy(async () => ({ default: (await import('./rank_grid')).RankGrid }));

// More ranks than this are shown in small cells.
const MAX_CELLS = 64;

const SIGNS: Record<Rank['state'], string> = {
  connecting: '…',
  paused: '‖',
  running: '▸',
  pausing: '‖',
  finished: '✓',
  terminated: '■',
  lost: '?',
};

function rankText(rank: Rank, hits: number): string {
  const parts = words.rankState(rank.rank, stateWords(rank.state, null).toLowerCase(), rank.step);
  if (hits > 0) parts.push(counts.hits(hits));
  return parts.join(', ');
}

function useHitsByRank(): ReadonlyMap<number, number> {
  const hits = useJob((state) => state.model.hits);
  return useMemo(() => {
    const counts = new Map<number, number>();
    for (const { rank } of hits) counts.set(rank, (counts.get(rank) ?? 0) + 1);
    return counts;
  }, [hits]);
}

function Details({ rank, current, onDone }: { rank: Rank; current: number; onDone: () => void }) {
  const { route } = useJobContext();
  const here = rank.rank === current;
  return (
    <div className="ranks-details">
      <dl className="facts">
        <div className="fact">
          <dt>{words.process}</dt>
          <dd className="mono ellipsis">{processName(rank)}</dd>
        </div>
        <div className="fact">
          <dt>{words.device}</dt>
          <dd className="mono">{rank.device === 'cpu' ? 'CPU' : `${rank.device}:${rank.device_id}`}</dd>
        </div>
        <div className="fact">
          <dt>{rank.state === 'paused' ? words.pausedAt : words.at}</dt>
          <dd className="mono ellipsis" title={rank.node}>
            {rank.node === '' ? words.step(rank.step) : rank.node}
          </dd>
        </div>
      </dl>
      <div className="ranks-actions">
        <Button
          label={words.switchToRank(rank.rank)}
          icon={Eye}
          small
          tone="primary"
          disabledReason={here ? words.alreadyShown : ''}
          onClick={() => {
            touch();
            patchRoute({ rank: rank.rank }, 'push');
            onDone();
          }}
        />
        <Button
          label={words.compareWithRank(rank.rank)}
          icon={Columns3}
          small
          disabledReason={
            here ? words.sameRank : !route?.node ? selectNodeFirst : ''
          }
          onClick={() => {
            touch();
            patchRoute({ panel: 'compare', against: `rank:${rank.rank}` }, 'push');
            onDone();
          }}
        />
        <GuideLink page="ranks" />
      </div>
    </div>
  );
}

function Matrix({ job, current, onDone }: { job: Job; current: number; onDone: () => void }) {
  const hits = useHitsByRank();
  const [chosen, setChosen] = useState(current);
  const rank = job.ranks.find((other) => other.rank === chosen);
  const many = job.ranks.length > MAX_CELLS;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector<HTMLElement>('[aria-pressed=true]')?.focus();
  }, []);
  const move = (event: React.KeyboardEvent) => {
    const cells = [...(box.current?.querySelectorAll<HTMLElement>('button') ?? [])];
    const top = cells[0]?.offsetTop;
    const columns = Math.max(1, cells.findIndex((each) => each.offsetTop !== top));
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (by === undefined || !box.current?.contains(event.target as Node)) return;
    event.preventDefault();
    const at = cells.indexOf(document.activeElement as HTMLElement);
    const cell = cells[Math.min(cells.length - 1, Math.max(0, at + by))];
    cell?.focus();
    cell?.click();
  };
  return (
    <>
      <div
        ref={box}
        className={many ? undefined : 'ranks-matrix'}
        role={many ? undefined : 'group'}
        aria-label={many ? undefined : words.ranksByState}
        onKeyDown={move}
      >
        {many && (
          <Suspense fallback={null}>
            <RankGrid
              job={job}
              hits={hits}
              current={current}
              chosen={chosen}
              onChoose={setChosen}
              textOf={(each) => rankText(each, hits.get(each.rank) ?? 0)}
            />
          </Suspense>
        )}
        {!many && job.ranks.map((each) => (
          <button
            key={each.rank}
            type="button"
            className={`rank-cell rank-${each.state}${(hits.get(each.rank) ?? 0) > 0 ? ' rank-hit' : ''}${each.rank === current ? ' rank-here' : ''}`}
            aria-label={rankText(each, hits.get(each.rank) ?? 0)}
            aria-pressed={each.rank === chosen}
            title={rankText(each, hits.get(each.rank) ?? 0)}
            onClick={() => setChosen(each.rank)}
          >
            <span aria-hidden>{SIGNS[each.state]}</span>
            <span aria-hidden className="mono">
              {each.rank}
            </span>
          </button>
        ))}
      </div>
      {rank !== undefined && (
        <>
          <p className="ranks-text">{rankText(rank, hits.get(rank.rank) ?? 0)}</p>
          <Details rank={rank} current={current} onDone={onDone} />
        </>
      )}
    </>
  );
}

export function Ranks({ job }: { job: Job }) {
  const { route } = useJobContext();
  const current = route?.rank ?? 0;
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const trigger = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    const onPointerDown = (event: PointerEvent) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    window.addEventListener('pointerdown', onPointerDown, true);
    return () => window.removeEventListener('pointerdown', onPointerDown, true);
  }, [open]);
  const close = () => {
    setOpen(false);
    trigger.current?.focus();
  };
  return (
    <span
      ref={box}
      className="ranks"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !open) return;
        event.stopPropagation();
        close();
      }}
    >
      <button
        ref={trigger}
        type="button"
        className="button button-plain button-small ranks-open"
        aria-expanded={open}
        aria-haspopup="dialog"
        onClick={() => setOpen(!open)}
      >
        <span>
          {words.rank} <span className="mono">{current}</span> {words.of(job.world_size)}
        </span>
        <span className="ranks-dots" aria-hidden>
          {job.ranks.slice(0, 16).map((rank) => (
            <i key={rank.rank} className={`rank-dot rank-${rank.state}`} />
          ))}
        </span>
        <ChevronDown aria-hidden size={13} />
      </button>
      {open && (
        <div className="ranks-popover" role="dialog" aria-label={words.ranks}>
          <Matrix job={job} current={current} onDone={close} />
        </div>
      )}
    </span>
  );
}
