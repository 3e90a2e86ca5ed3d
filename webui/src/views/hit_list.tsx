// The list of hits that match the filter.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { Hit } from '../api/types';
import { formatCount } from '../base/format';
import { useConditionText } from '../state/condition_text';
import { goToHit, linesOf, loadHits, matches, stoppingHit, type HitLine } from '../state/hits';
import { MAX_HITS } from '../state/job';
import { useJob } from '../state/job_store';
import { openNodeMenu, useUi } from '../state/ui';
import { Button } from '../widgets/button';
import { HIT_PX, HitRowView, STEP_PX, type ShownHitLine } from '../widgets/hit_row_view';
import { Notice } from '../widgets/notice';
import { useRowWindow, type RowKind } from '../widgets/row_window';
import { useElementSize } from '../widgets/use_size';
import * as counts from '../words/counts';
import * as words from '../words/hits';
import { useJobContext } from './job_context';
import '../widgets/full_name.css';

const HIT_ROWS: RowKind<ShownHitLine> = { height: STEP_PX, make: () => new HitRowView() };

const heightOf = (line: HitLine) => (line.kind === 'step' ? STEP_PX : HIT_PX);

function topsOf(lines: readonly HitLine[]): Float64Array {
  const tops = new Float64Array(lines.length + 1);
  lines.forEach((line, i) => (tops[i + 1] = (tops[i] as number) + heightOf(line)));
  return tops;
}

// The scroll position that shows the newest step from its start, or the hit that stopped
// the job if it would be out of view then.
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
    at += heightOf(line);
  }
  return hit === null || hit + HIT_PX < step + height ? step : hit - STEP_PX - HIT_PX;
}

// The index of the selected hit: the one that the user went to, if its node is still
// selected, or else the newest of the selected tensor.
function selectedHit(hits: readonly Hit[], visited: number | null, node: string | null, slot: string | null): number {
  if (node === null) return -1;
  const exact = hits.findIndex((hit) => hit.id === visited && hit.node === node);
  if (exact >= 0) return exact;
  return hits.findLastIndex((hit) => hit.node === node && String(hit.slot) === (slot ?? '0'));
}

// How many of all hits the list contains, and where the others are.
function Missing({ shown, total }: { shown: number; total: number }) {
  const filter = useUi((state) => state.hit_filter);
  const kept = useJob(({ model }) => model.info?.kept_hit_count ?? total);
  const dropped = useJob(({ model }) => model.info?.dropped_hit_count ?? 0);
  const [busy, setBusy] = useState(false);
  const missing = shown < kept;
  return (
    <div className="hits-missing">
      <span className="muted grow" role="note" aria-label={words.hitsNotShown}>
        {words.shownOf(missing, formatCount(shown), formatCount(total + dropped))}
        {missing && kept > MAX_HITS && words.filterForOlder}
        {kept < total && words.onlyCounted(formatCount(kept))}
        {dropped > 0 && words.lost(formatCount(dropped))}
      </span>
      {missing && kept <= MAX_HITS && (
        <Button
          label={words.loadAll}
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

function Lines({ hits }: { hits: readonly Hit[] }) {
  const { route } = useJobContext();
  const { conditionTitle, actualText } = useConditionText();
  const visited = useUi((state) => state.hit);
  const showRank = useJob((state) => (state.model.info?.world_size ?? 1) > 1);
  const stopHit = useJob(({ model }) => stoppingHit(model)?.id ?? null);
  const lines = useMemo(() => linesOf(hits), [hits]);
  const tops = useMemo(() => topsOf(lines), [lines]);
  const [first, setFirst] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const rows = useRowWindow(scroller, host, HIT_ROWS);
  const at = selectedHit(hits, visited, route?.node ?? null, route?.slot ?? null);
  const selected = hits[at];
  useLayoutEffect(() => {
    rows.current?.show({
      count: lines.length,
      tops,
      active: -1,
      at: (index): ShownHitLine => {
        const line = lines[index] as HitLine;
        const top = tops[index] as number;
        if (line.kind === 'step') return { kind: 'step', top, step: line.step, hits: counts.hits(line.count) };
        const { hit } = line;
        const condition = conditionTitle(hit.condition);
        return { kind: 'hit', top, hit, actual: actualText(hit), condition, selected: hit === selected, showRank };
      },
    });
  }, [rows, lines, tops, selected, showRank, conditionTitle, actualText]);
  // Keeps the newest step in view until the user scrolls elsewhere.
  const following = useRef(true);
  const setTop = useRef(0);
  const size = useElementSize(scroller);
  useEffect(() => {
    const element = scroller.current;
    if (element === null || !following.current) return;
    element.scrollTop = newestAt(lines, stopHit, element.clientHeight);
    // The browser may have limited the position.
    setTop.current = element.scrollTop;
  }, [lines, stopHit, size]);

  // The step of the topmost line is shown in a heading that stays in place.
  const top = lines[Math.min(first, lines.length - 1)];
  const onKeyDown = (event: React.KeyboardEvent) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: hits.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const hit = hits[Math.min(hits.length - 1, Math.max(0, to))];
    if (hit === undefined) return;
    goToHit(hit);
    rows.current?.reveal(lines.findIndex((line) => line.kind === 'hit' && line.hit === hit));
  };
  const hitUnder = (event: React.MouseEvent): Hit | null => {
    const line = rows.current?.rowOf(event.target as Element);
    return line?.kind === 'hit' ? line.hit : null;
  };
  return (
    <div
      ref={scroller}
      className="hits"
      role="listbox"
      aria-label={words.hits}
      aria-description={counts.hits(hits.length)}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onClick={(event) => {
        const hit = hitUnder(event);
        if (hit !== null) goToHit(hit);
      }}
      onContextMenu={(event) => {
        const hit = hitUnder(event);
        if (hit === null) return;
        event.preventDefault();
        openNodeMenu({ node: hit.node, kind: 'op', x: event.clientX, y: event.clientY });
      }}
      onScroll={(event) => {
        const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
        const end = scrollHeight - clientHeight;
        const own = Math.abs(scrollTop - Math.min(setTop.current, end)) < 2;
        following.current = own || scrollTop >= end - 2;
        setFirst(rows.current?.indexAt(scrollTop) ?? 0);
      }}
    >
      {top !== undefined && first > 0 && (
        <div className="hit-heading hit-heading-stuck" role="presentation">
          {words.step(top.kind === 'step' ? top.step : top.hit.step)}
        </div>
      )}
      <div ref={host} role="presentation" />
    </div>
  );
}

export function HitList({ hits, total }: { hits: readonly Hit[]; total: number }) {
  const filter = useUi((state) => state.hit_filter);
  const shown = useMemo(() => hits.filter((hit) => matches(hit, filter)), [hits, filter]);
  const missing = hits.length < total;
  const lost = useJob(({ model }) => (model.info?.dropped_hit_count ?? 0) > 0);
  // The filter may match hits that only the server has.
  useEffect(() => {
    const narrow = [filter.watchpoint, filter.rank, filter.step, filter.node].some((value) => value !== null);
    if (!narrow || !missing) return undefined;
    const timer = setTimeout(() => void loadHits(filter), 300);
    return () => clearTimeout(timer);
  }, [filter, missing]);
  return (
    <>
      {(missing || lost) && <Missing shown={hits.length} total={total} />}
      {shown.length === 0 ? <Notice title={words.noneMatchFilter} /> : <Lines hits={shown} />}
    </>
  );
}
