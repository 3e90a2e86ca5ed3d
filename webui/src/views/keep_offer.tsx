// What keeps a tensor from step to step, or that nothing does, and the click that
// changes that.

import { useMemo, useState } from 'react';
import type { Watchpoint } from '../api/types';
import { coversNode } from '../index/coverage';
import { hasEnded } from '../state/job';
import { sendCommand, useJob } from '../state/job_store';
import { keepingOf, keeps, type Keeping } from '../state/keeping';
import { useScopes } from '../state/scopes';
import { selectionOf } from '../state/watch_selections';
import { keep, switchWatchpoint } from '../state/watchpoints';
import { Button } from '../widgets/button';
import { useAway } from './use_away';

export type Keeper =
  | { state: 'none' }
  | { state: 'on' | 'off'; watchpoint: Watchpoint }
  | { state: 'deleted'; id: number };

// Of those that are off, only one that was made for this.
function keeperOf(watchpoints: readonly Watchpoint[], what: Keeping, covers: (of: Watchpoint) => boolean) {
  const fits = watchpoints.filter((each) => keeps(what, each.condition) && covers(each));
  const on = fits.find(({ enabled }) => enabled);
  return on ?? fits.find(({ condition }) => keepingOf(condition) === what) ?? null;
}

export function useKeeper(what: Keeping, node: string): Keeper {
  const watchpoints = useJob(({ model }) => model.watchpoints);
  const index = useScopes((state) => state.index);
  const found = useMemo(() => {
    const category = index?.category(index.find(node)) ?? 'other';
    return keeperOf(watchpoints, what, (each) => coversNode(selectionOf(each), node, category));
  }, [watchpoints, what, node, index]);
  // One that was seen here and is gone is told of.
  const [seen, setSeen] = useState<{ node: string; id: number } | null>(null);
  if (found !== null && (seen?.node !== node || seen.id !== found.id)) setSeen({ node, id: found.id });
  if (found !== null) return { state: found.enabled ? 'on' : 'off', watchpoint: found };
  if (seen?.node !== node) return { state: 'none' };
  const left = watchpoints.find(({ id }) => id === seen.id);
  if (left === undefined) return { state: 'deleted', id: seen.id };
  return left.enabled ? { state: 'none' } : { state: 'off', watchpoint: left };
}

const NOW: Record<Keeping, string> = {
  history: 'records it: each step from now on is in its history',
  previous: 'keeps it: run one step to compare with the one before',
};

const THEN: Record<Keeping, string> = { history: 'recorded it', previous: 'kept it' };

const OFFERS: Record<Keeping, string> = { history: 'Record its history', previous: 'Keep it from now on' };

function wordsOf(keeper: Keeper, what: Keeping, otherwise: string): string {
  switch (keeper.state) {
    case 'none':
      return otherwise;
    case 'deleted':
      return `Watchpoint ${keeper.id}, which ${THEN[what]}, was deleted.`;
    case 'off':
      return `Watchpoint ${keeper.watchpoint.id}, which ${THEN[what]}, is switched off.`;
    case 'on':
      return `Watchpoint ${keeper.watchpoint.id} ${NOW[what]}.`;
  }
}

interface Props {
  what: Keeping;
  node: string;
  keeper: Keeper;
  // What is said where nothing ever kept it.
  otherwise: string;
}

export function KeepOffer({ what, node, keeper, otherwise }: Props) {
  const info = useJob(({ model }) => model.info);
  const kind = useScopes(({ index }) => index?.kind(index.find(node)) ?? 'op');
  const away = useAway();
  // MindSpore's jobs know no expressions.
  const able = !hasEnded(info) && info?.framework !== 'mindspore';
  // What is no op is kept while one steps, whatever watches it.
  const helps = keeper.state === 'on' || (what === 'previous' && kind !== 'op');
  const { state } = keeper;
  return (
    <div className="keep-offer">
      <p>{wordsOf(keeper, what, otherwise)}</p>
      <span className="values-ways">
        {helps && info?.state === 'paused' && (
          <Button label="Run one step" small disabledReason={away} onClick={() => void sendCommand('step', { steps: 1 })} />
        )}
        {able && state === 'off' && (
          <Button
            label="Switch it on"
            small
            disabledReason={away}
            onClick={() => void switchWatchpoint(keeper.watchpoint, true)}
          />
        )}
        {able && (state === 'none' || state === 'deleted') && (
          <Button
            label={OFFERS[what]}
            small
            tone="primary"
            hint="A watchpoint that never stops the job"
            disabledReason={away}
            onClick={() => void keep(what, node)}
          />
        )}
      </span>
    </div>
  );
}
