// The other side of a comparison.

import { useMemo } from 'react';
import type { TensorSummary } from '../api/types';
import { isRun } from '../base/run_id';
import { useHistory, type ValueQuery } from '../state/queries';

// The other side of the comparison. The API writes it as "previous", "step:3", "rank:1",
// "tensor:scope/node:0" or "run:abc:0@3", of which rank and step may be missing.
export interface Against {
  kind: 'previous' | 'step' | 'rank' | 'tensor' | 'run';
  value: string;
}

export function parseAgainst(text: string | null): Against {
  const match = /^(step|rank|tensor|run):(.*)$/.exec(text ?? '');
  // A tensor that is not chosen yet has no name.
  if (match === null || (match[1] !== 'tensor' && match[2] === '')) return { kind: 'previous', value: '' };
  return { kind: match[1] as Against['kind'], value: match[2] ?? '' };
}

export interface RunSide {
  run: string;
  // Null: as on this side.
  rank: number | null;
  step: string | null;
}

// Reads "abc:0@3". Ids of runs have neither colons nor "@".
export function parseRunSide(value: string): RunSide {
  const match = /^([^:@]*)(?::(\d+))?(?:@(\d+))?$/.exec(value);
  return { run: match?.[1] ?? '', rank: match?.[2] === undefined ? null : Number(match[2]), step: match?.[3] ?? null };
}

// The other steps at which a recorded run has the values, the nearest earlier one first; null for
// a job.
export function useSavedSteps(tensor: TensorSummary, query: ValueQuery): readonly number[] | null {
  const history = useHistory(query.job, tensor.name, query.rank, query.version, isRun(query.job));
  return useMemo(() => {
    if (!isRun(query.job)) return null;
    const now = Number(query.step);
    const others = (history.data?.saved_steps ?? []).filter((step) => step !== now);
    return [...others.filter((step) => step < now).toReversed(), ...others.filter((step) => step > now)];
  }, [history.data, query.job, query.step]);
}

// The step before that of a recorded run is the one before whose values were saved.
export function againstOf(text: string | null, saved: readonly number[] | null): Against {
  const against = parseAgainst(text);
  if (saved === null || against.kind !== 'previous') return against;
  return { kind: 'step', value: saved[0] === undefined ? '' : String(saved[0]) };
}
