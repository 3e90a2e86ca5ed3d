// When the job stops at a node or for hits of a step, the page selects that node, as a debugger
// does, unless the user was active in the last few seconds. A hit is shown with its neighbourhood, where
// the statistics of the tensors around it are.

import { useEffect, useRef } from 'react';
import { isRun } from '../base/run_id';
import { firstHitOfStop } from './hits';
import { useJob } from './job_store';
import { patchRoute, useRouter } from './router';
import { revealNode } from './scopes';
import { useUi } from './ui';

const QUIET_MS = 3000;

export function shouldFollow(now: number, touched_at: number, commanded_at: number): boolean {
  // A command after the last input means that the user wants to follow the job.
  return commanded_at >= touched_at || now - touched_at > QUIET_MS;
}

export function useFollowStop(): void {
  const stops = useJob((state) => state.model.stops);
  const first = useRef(true);
  useEffect(() => {
    const { model, commanded_at } = useJob.getState();
    if (stops === 0 || model.info === null || model.info.state !== 'paused') return;
    const hit = firstHitOfStop(model);
    const node = model.info.node || hit?.node;
    const wasFirst = first.current;
    first.current = false;
    if (!node) return;
    const { route } = useRouter.getState();
    // A node named by the address takes precedence over the first stop.
    if (wasFirst && route.view === 'job' && route.route.node !== null) return;
    if (shouldFollow(performance.now(), useUi.getState().touched_at, commanded_at)) {
      revealNode(node, 'replace');
      const atHit = model.info.pause_reason === 'watchpoint' && !isRun(useJob.getState().id ?? '');
      if (atHit && !useUi.getState().whole_graph) patchRoute({ around: 1 });
    }
  }, [stops]);
}
