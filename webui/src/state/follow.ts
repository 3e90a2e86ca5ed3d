// When the job stops at a node, the page selects that node, as a debugger does, and when it stops for hits, the
// one where they began, unless the user was active in the last few seconds. Hits and failed ops are shown with
// their neighbourhood, where the statistics of the tensors around them are.

import { useEffect, useRef } from 'react';
import type { Hit, Job } from '../api/types';
import { isRun } from '../base/run_id';
import { originOfStop } from './hits';
import type { JobModel } from './job';
import { useJob } from './job_store';
import { patchRoute, useRouter, useSelectedRank } from './router';
import { revealNode } from './scopes';
import { useUi } from './ui';
import { rankOfException } from './words';

const QUIET_MS = 3000;

export function shouldFollow(now: number, touched_at: number, commanded_at: number): boolean {
  // A command after the last input means that the user wants to follow the job.
  return commanded_at >= touched_at || now - touched_at > QUIET_MS;
}

// Where the rank that is shown is paused; empty if it runs, and for jobs of one rank.
function placeOf(info: Job | null, shown: number): string {
  if (info === null || info.world_size < 2) return '';
  const rank = info.ranks.find((each) => each.rank === shown);
  return rank?.state === 'paused' ? `${rank.step} ${rank.node}` : '';
}

interface Target {
  node: string;
  // The hit that is shown.
  hit: Hit | null;
  // Null: the one that is shown.
  rank: number | null;
}

// Of several ranks, the one that was hit or that failed is shown, or else where the shown one stands.
function targetOf(model: JobModel, info: Job, shown: number): Target {
  const hit = originOfStop(model);
  if (info.world_size < 2) return { node: hit?.node ?? info.node, hit, rank: null };
  if (hit !== null) return { node: hit.node, hit, rank: hit.rank };
  if (info.pause_reason === 'error') return { node: info.node, hit, rank: rankOfException(info) };
  return { node: info.ranks.find(({ rank }) => rank === shown)?.node ?? '', hit, rank: null };
}

export function useFollowStop(): void {
  const stops = useJob((state) => state.model.stops);
  const shown = useSelectedRank();
  const place = useJob((state) => placeOf(state.model.info, shown));
  const first = useRef(true);
  const before = useRef({ stops: 0, shown, place: '' });
  useEffect(() => {
    const { model, commanded_at } = useJob.getState();
    const { info } = model;
    const last = before.current;
    before.current = { stops, shown, place };
    // The user has only switched to another rank.
    if (stops === last.stops && shown !== last.shown) return;
    // It stays while another one moves.
    const stays = place !== '' && shown === last.shown && place === last.place;
    if (stops === 0 || info === null || (info.state !== 'paused' && place === '')) return;
    const { node, hit, rank } = targetOf(model, info, shown);
    if (rank === null && stays) return;
    const wasFirst = first.current;
    first.current = false;
    if (rank === null && !node) return;
    const { route } = useRouter.getState();
    // A node named by the address takes precedence over the first stop.
    if (wasFirst && route.view === 'job' && route.route.node !== null) return;
    if (!shouldFollow(performance.now(), useUi.getState().touched_at, commanded_at)) return;
    if (node) revealNode(node, 'replace');
    if (rank !== null) patchRoute({ rank });
    if (hit !== null) {
      useUi.setState({ hit: hit.id });
      if (hit.slot > 0) patchRoute({ slot: String(hit.slot) });
    }
    const bad = info.pause_reason === 'watchpoint' || info.pause_reason === 'error';
    if (bad && node && !isRun(useJob.getState().id ?? '') && !useUi.getState().whole_graph) patchRoute({ around: 1 });
    // The rank that is shown is part of what is followed, not a reason to follow.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [stops, place]);
}
