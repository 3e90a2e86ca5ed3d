// The list of hits: filter, rows, navigation, and loading of older hits.

import { api, type HitsRequest } from '../api/client';
import type { Hit } from '../api/types';
import { isRun } from '../base/run_id';
import { hitsNotLoaded } from '../words/hits';
import { describe } from './describe';
import { MAX_HITS, putHits, type JobModel } from './job';
import { useJob } from './job_store';
import { patchRoute } from './router';
import { revealNode } from './scopes';
import { showToast } from './toasts';
import { touch, useUi, type HitFilter } from './ui';

export function matches(hit: Hit, { watchpoint, rank, step, node, origins, absorbed }: HitFilter): boolean {
  return (
    (watchpoint === null || hit.watchpoint === watchpoint) &&
    (rank === null || hit.rank === rank) &&
    (step === null || hit.step === step) &&
    (node === null || hit.node === node || hit.node.startsWith(`${node}/`)) &&
    (!origins || hit.origin !== 'propagated') &&
    hit.absorbed === absorbed
  );
}

export type HitLine = { kind: 'step'; step: number; count: number } | { kind: 'hit'; hit: Hit };

// Returns rows for hits in execution order, with a heading before each step.
export function linesOf(hits: readonly Hit[]): HitLine[] {
  const lines: HitLine[] = [];
  let heading: { kind: 'step'; step: number; count: number } | null = null;
  for (const hit of hits) {
    if (heading === null || heading.step !== hit.step) {
      heading = { kind: 'step', step: hit.step, count: 0 };
      lines.push(heading);
    }
    heading.count += 1;
    lines.push({ kind: 'hit', hit });
  }
  return lines;
}

// Returns the hit that paused the job at a node, or null. An infinity pauses it at the node that
// reads it and passes it on, which may have no hit of its own; then it is the first of the step.
export function stoppingHit({ info, hits }: Pick<JobModel, 'info' | 'hits'>): Hit | null {
  if (info?.state !== 'paused' || info.pause_reason !== 'watchpoint' || !info.node) return null;
  const by = info.stopped_by ?? [];
  const own = (hit: Hit) => hit.node === info.node && hit.step === info.step && by.includes(hit.watchpoint);
  return hits.findLast(own) ?? firstHitOfStop({ info, hits });
}

// Returns the first hit of the step by a watchpoint that paused the job, or null.
export function firstHitOfStop({ info, hits }: Pick<JobModel, 'info' | 'hits'>): Hit | null {
  if (info?.state !== 'paused' || info.pause_reason !== 'watchpoint') return null;
  const by = info.stopped_by ?? [];
  return hits.find((hit) => hit.step === info.step && !hit.absorbed && by.includes(hit.watchpoint)) ?? null;
}

// Returns the hit with which the trouble of a stop began, or null. The job is often paused at an op that
// only reads or passes on what another one, or another rank, has made. If the watchpoint is to stop at each of
// them, it is where the job is paused.
export function originOfStop(model: Pick<JobModel, 'info' | 'hits'>): Hit | null {
  const hit = stoppingHit(model) ?? firstHitOfStop(model);
  if (hit === null || hit.params['propagated'] === 'stop') return hit;
  const by = model.info?.stopped_by ?? [];
  const began = model.hits.filter(
    (each) => each.step === hit.step && each.origin === 'origin' && !each.absorbed && by.includes(each.watchpoint),
  );
  const before = began.filter((each) => each.order < hit.order);
  const own = before.findLast((each) => each.rank === hit.rank);
  if (hit.origin === 'propagated') return own ?? began[0] ?? hit;
  // Another rank has sent it, if this one has had none before.
  return own === undefined ? (before[0] ?? hit) : hit;
}

// The hit at a tensor of which a bundle can be made now: the job is paused in its step.
export function hitToBundle({ info, hits }: Pick<JobModel, 'info' | 'hits'>, name: string, rank: number): Hit | null {
  if (info?.state !== 'paused') return null;
  return hits.findLast((hit) => hit.step === info.step && hit.rank === rank && `${hit.node}:${hit.slot}` === name) ?? null;
}

export function goToHit(hit: Hit): void {
  touch();
  useUi.setState({ hit: hit.id });
  revealNode(hit.node);
  // A recorded run also goes to the hit's step.
  const recorded = isRun(useJob.getState().id ?? '') ? { step: String(hit.step) } : {};
  patchRoute({ slot: String(hit.slot), rank: hit.rank, ...recorded });
}

// Selects the next or previous hit that passes the filter.
export function goToNextHit(by: 1 | -1): void {
  const { hit, hit_filter } = useUi.getState();
  const hits = useJob.getState().model.hits.filter((other) => matches(other, hit_filter));
  const at = hits.findIndex((other) => other.id === hit);
  const next = at < 0 ? hits.at(by > 0 ? 0 : -1) : hits[at + by];
  if (next !== undefined) goToHit(next);
}

const PAGE = 1000;

// Loads the hits that the page does not have, page by page.
export async function loadHits(filter: HitFilter): Promise<void> {
  const { id } = useJob.getState();
  if (id === null) return;
  const { watchpoint, rank, step, node } = filter;
  let cursor: string | null = null;
  try {
    for (let count = 0; count < MAX_HITS; count += PAGE) {
      const query: HitsRequest = { watchpoint, rank, step, node, cursor, limit: PAGE };
      // Each page contains the cursor of the next.
      // oxlint-disable-next-line no-await-in-loop
      const page = await api.hits(id, query);
      if (useJob.getState().id !== id) return;
      useJob.setState(({ model }) => ({ model: putHits(model, page.hits) }));
      cursor = page.next_cursor;
      if (cursor === null || cursor === '') return;
    }
  } catch (error) {
    showToast({ kind: 'error', title: hitsNotLoaded, detail: describe(error) });
  }
}
