// The hits that the filter lets through; only rows in view exist.

import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useMemo, useRef, useState } from 'react';
import type { Hit } from '../api/types';
import { formatCount, plural } from '../base/format';
import { goToHit, linesOf, loadHits, matches, stoppingHit, type HitLine } from '../state/hits';
import { MAX_HITS } from '../state/job';
import { useJob } from '../state/job_store';
import { openNodeMenu, useUi } from '../state/ui';
import { useConditionText } from '../state/condition_text';
import { Button } from '../widgets/button';
import { FullName } from '../widgets/full_name';
import { Notice } from '../widgets/notice';
import { useJobContext } from './job_context';

const HIT_PX = 42;
const STEP_PX = 24;

// Where the newest step begins, from the top; if one of its hits stopped the job and
// would not be seen then, a little above that.
function newestAt(lines: readonly HitLine[], stop: number | null, height: number): number {
  let at = 0;
  let step = 0;
  let hit: number | null = null;
  for (const line of lines) {
    if (line.kind === 'step') {
      step = at;
      hit = null;
    } else if (line.hit.id === stop) {
      hit = at;
    }
    at += line.kind === 'step' ? STEP_PX : HIT_PX;
  }
  return hit === null || hit + HIT_PX < step + height ? step : hit - STEP_PX - HIT_PX;
}

const HitRow = memo(function HitRow({ hit, ranks }: { hit: Hit; ranks: boolean }) {
  const { conditionTitle, actualText } = useConditionText();
  return (
    <>
      <span className="hit-node">
        <FullName name={hit.slot === 0 ? hit.node : `${hit.node}:${hit.slot}`} />
        <div className="hit-detail ellipsis">
          {hit.error ? (
            <span className="hit-error">{hit.error}</span>
          ) : (
            <>
              <span className="hit-actual mono">{actualText(hit)}</span>
              <span className="muted"> · {conditionTitle(hit.condition)}</span>
              {hit.origin === 'propagated' && <span className="muted"> · {hit.origin}</span>}
            </>
          )}
        </div>
      </span>
      {ranks && (
        <span className="hit-rank mono" title={`Rank ${hit.rank}`}>
          r{hit.rank}
        </span>
      )}
      {hit.origin === 'origin' && (
        <span className="hit-origin" title="Its inputs were still good">
          {hit.origin}
        </span>
      )}
    </>
  );
});

// Which hit is the one that is looked at: the one that was gone to, if its node is
// still selected, else the newest of that tensor.
function selectedHit(hits: readonly Hit[], gone: number | null, node: string | null, slot: string | null): number {
  if (node === null) return -1;
  const exact = hits.findIndex((hit) => hit.id === gone && hit.node === node);
  if (exact >= 0) return exact;
  return hits.findLastIndex((hit) => hit.node === node && String(hit.slot) === (slot ?? '0'));
}

// How many are shown of how many were met, and where the others are.
function Missing({ shown, total }: { shown: number; total: number }) {
  const filter = useUi((state) => state.hit_filter);
  const kept = useJob(({ model }) => model.info?.kept_hit_count ?? total);
  const dropped = useJob(({ model }) => model.info?.dropped_hit_count ?? 0);
  const [busy, setBusy] = useState(false);
  const missing = shown < kept;
  return (
    <div className="hits-missing">
      <span className="muted grow" role="note" aria-label="Hits that are not shown">
        {missing ? 'Newest ' : ''}
        {formatCount(shown)} of {formatCount(total + dropped)} that were met
        {missing && kept > MAX_HITS && '; filter to see older ones'}
        {kept < total && `; after the first ${formatCount(kept)} the server only counts`}
        {dropped > 0 && `; ${formatCount(dropped)} are lost, as they came faster than the job could send them`}
      </span>
      {missing && kept <= MAX_HITS && (
        <Button
          label="Load all"
          small
          pending={busy}
          onClick={() => {
            setBusy(true);
            void loadHits(filter).finally(() => setBusy(false));
          }}
        />
      )}
    </div>
  );
}

export function HitList({ hits, total }: { hits: readonly Hit[]; total: number }) {
  const { route } = useJobContext();
  const filter = useUi((state) => state.hit_filter);
  const gone = useUi((state) => state.hit);
  const ranks = useJob((state) => (state.model.info?.world_size ?? 1) > 1);
  const shown = useMemo(() => hits.filter((hit) => matches(hit, filter)), [hits, filter]);
  const lines = useMemo(() => linesOf(shown), [shown]);
  const missing = hits.length < total;
  const lost = useJob(({ model }) => (model.info?.dropped_hit_count ?? 0) > 0);
  const stopHit = useJob(({ model }) => stoppingHit(model)?.id ?? null);
  const [first, setFirst] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const sizeOf = (line: HitLine | undefined) => (line?.kind === 'step' ? STEP_PX : HIT_PX);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => sizeOf(lines[index]),
    overscan: 8,
    getItemKey: (index) => {
      const line = lines[index];
      return line?.kind === 'hit' ? line.hit.id : `step ${line?.step}`;
    },
  });
  // The selected hit of the newest step, else its first hits, are what one looks for,
  // and are kept in view until one looks at others.
  const following = useRef(true);
  const wanted = useRef(0);
  useEffect(() => {
    const element = scroller.current;
    if (element === null || !following.current) return;
    wanted.current = newestAt(lines, stopHit, element.clientHeight);
    element.scrollTop = wanted.current;
  }, [lines, stopHit]);
  // A filter may mean hits that are only on the server.
  useEffect(() => {
    const narrow = [filter.watchpoint, filter.rank, filter.step, filter.node].some((value) => value !== null);
    if (!narrow || !missing) return undefined;
    const timer = setTimeout(() => void loadHits(filter), 300);
    return () => clearTimeout(timer);
  }, [filter, missing]);

  // The step of what is at the top stays to be seen.
  const top = lines[Math.min(first, lines.length - 1)];
  const selected = selectedHit(shown, gone, route?.node ?? null, route?.slot ?? null);
  const onKeyDown = (event: React.KeyboardEvent) => {
    const to = { ArrowDown: selected + 1, ArrowUp: selected - 1, Home: 0, End: shown.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const hit = shown[Math.min(shown.length - 1, Math.max(0, to))];
    if (hit === undefined) return;
    goToHit(hit);
    virtual.scrollToIndex(lines.findIndex((line) => line.kind === 'hit' && line.hit === hit), { align: 'auto' });
  };
  return (
    <>
      {(missing || lost) && <Missing shown={hits.length} total={total} />}
      {shown.length === 0 ? (
        <Notice title="No hit passes the filter" />
      ) : (
        <div
          ref={scroller}
          className="hits"
          role="listbox"
          aria-label="Hits"
          aria-description={plural(shown.length, 'hit')}
          tabIndex={0}
          onKeyDown={onKeyDown}
          onScroll={(event) => {
            const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
            const end = scrollHeight - clientHeight;
            const own = Math.abs(scrollTop - Math.min(wanted.current, end)) < 2;
            following.current = own || scrollTop >= end - 2;
            setFirst(virtual.getVirtualItemForOffset(scrollTop)?.index ?? 0);
          }}
        >
          {top !== undefined && first > 0 && (
            <div className="hit-heading hit-heading-stuck" role="presentation">
              Step {top.kind === 'step' ? top.step : top.hit.step}
            </div>
          )}
          <div role="presentation" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, start, key }) => {
              const line = lines[index];
              if (line === undefined) return null;
              const place = { transform: `translateY(${start}px)` };
              if (line.kind === 'step') {
                return (
                  <div key={key} className="hit-heading" role="presentation" style={place}>
                    Step {line.step} <span className="muted">{plural(line.count, 'hit')}</span>
                  </div>
                );
              }
              const { hit } = line;
              return (
                <div
                  key={key}
                  role="option"
                  aria-selected={hit === shown[selected]}
                  className="hit-row"
                  title={hit.node}
                  style={place}
                  onClick={() => goToHit(hit)}
                  onContextMenu={(event) => {
                    event.preventDefault();
                    openNodeMenu({ node: hit.node, kind: 'op', x: event.clientX, y: event.clientY });
                  }}
                >
                  <HitRow hit={hit} ranks={ranks} />
                </div>
              );
            })}
          </div>
        </div>
      )}
    </>
  );
}
