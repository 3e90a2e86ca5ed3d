// Shows which watchpoint records a tensor's history or its previous value, if one does, and
// offers to add or enable one.

import { useMemo, useState } from 'react';
import type { Watchpoint } from '../api/types';
import { coversNode } from '../index/coverage';
import { targetOf } from '../state/condition_text';
import { isOver } from '../state/job';
import { sendCommand, useJob } from '../state/job_store';
import { keepingOf, keeps, type Keeping } from '../state/keeping';
import { useScopes } from '../state/scopes';
import { selectionOf } from '../state/watch_selections';
import { keep, switchWatchpoint } from '../state/watchpoints';
import { Button } from '../widgets/button';
import * as words from '../words/tensor_views';
import { useOfflineReason } from './use_offline_reason';
import { useReasonAgainst, useReasonAgainstWatching } from './use_reason_against';

export type Keeper =
  | { state: 'none' }
  | { state: 'on' | 'off'; watchpoint: Watchpoint }
  | { state: 'deleted'; id: number };

// An enabled watchpoint that covers the node and records what is wanted, or else a disabled
// one that was added only for this purpose.
function keeperOf(watchpoints: readonly Watchpoint[], what: Keeping, covers: (of: Watchpoint) => boolean) {
  const ofTensors = watchpoints.filter((each) => targetOf(each.condition.id) !== 'training');
  const fits = ofTensors.filter((each) => keeps(what, each.condition) && covers(each));
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
  // Remembers the last watchpoint found, to report if it is deleted or disabled.
  const [seen, setSeen] = useState<{ node: string; id: number } | null>(null);
  if (found !== null && (seen?.node !== node || seen.id !== found.id)) setSeen({ node, id: found.id });
  if (found !== null) return { state: found.enabled ? 'on' : 'off', watchpoint: found };
  if (seen?.node !== node) return { state: 'none' };
  const left = watchpoints.find(({ id }) => id === seen.id);
  if (left === undefined) return { state: 'deleted', id: seen.id };
  return left.enabled ? { state: 'none' } : { state: 'off', watchpoint: left };
}

function textOf(keeper: Keeper, what: Keeping, otherwise: string): string {
  switch (keeper.state) {
    case 'none':
      return otherwise;
    case 'deleted':
      return words.recorderDeleted(keeper.id);
    case 'off':
      return words.recorderDisabled(keeper.watchpoint.id);
    case 'on':
      return words.nowRecording[what](keeper.watchpoint.id);
  }
}

interface Props {
  what: Keeping;
  node: string;
  keeper: Keeper;
  // The text if no watchpoint has recorded it.
  otherwise: string;
}

export function KeepOffer({ what, node, keeper, otherwise }: Props) {
  const info = useJob(({ model }) => model.info);
  const kind = useScopes(({ index }) => index?.kind(index.find(node)) ?? 'op');
  const offline = useOfflineReason();
  const noControl = useReasonAgainst('control');
  const noWatching = useReasonAgainstWatching();
  // MindSpore jobs do not support expressions.
  const able = !isOver(info) && info?.framework !== 'mindspore';
  // Values of nodes other than ops are kept while stepping, even without a watchpoint.
  const helps = keeper.state === 'on' || (what === 'previous' && kind !== 'op');
  const { state } = keeper;
  return (
    <div className="keep-offer">
      <p>{textOf(keeper, what, otherwise)}</p>
      <span className="values-ways">
        {helps && info?.state === 'paused' && (
          <Button label={words.runOneStep} small disabledReason={offline || noControl} onClick={() => void sendCommand('step', { steps: 1 })} />
        )}
        {able && state === 'off' && (
          <Button
            label={words.enable}
            small
            disabledReason={noWatching}
            onClick={() => void switchWatchpoint(keeper.watchpoint, true)}
          />
        )}
        {able && (state === 'none' || state === 'deleted') && (
          <Button
            label={words.recordOffers[what]}
            small
            tone="primary"
            hint={words.recordHint}
            disabledReason={noWatching}
            onClick={() => void keep(what, node)}
          />
        )}
      </span>
    </div>
  );
}
