// The other side of a comparison.

import { useMemo } from 'react';
import type { TensorSummary } from '../api/types';
import { isRun, runId } from '../base/run_id';
import { useHistory, type ValueQuery } from '../state/queries';

// The other side of the comparison. What it does not name is as on this side. The API writes it as
// "previous", "step:3", "rank:1@3", "tensor:scope/node:0@3", "rank:1,tensor:scope/node:0@3" or
// "run:abc:0,tensor:scope/node:0@3", of which parts may be missing.
export interface Against {
  kind: 'previous' | 'step' | 'rank' | 'tensor' | 'run';
  value: string;
  // Of a tensor.
  rank?: number;
  // Of a rank or a tensor: a number, "current" or "previous".
  step?: string;
}

const RANK = /^(\d+)(?:,tensor:(.*?))?(?:@(\d+|current|previous))?$/;
const TENSOR = /^(.*?)(?:@(\d+|current|previous))?$/;

export function parseAgainst(text: string | null): Against {
  const match = /^(step|rank|tensor|run):(.*)$/.exec(text ?? '');
  // A tensor that is not chosen yet has no name.
  if (match === null || (match[1] !== 'tensor' && match[2] === '')) return { kind: 'previous', value: '' };
  const kind = match[1] as Against['kind'];
  const value = match[2] ?? '';
  if (kind === 'rank') {
    const [, rank = value, tensor, step] = RANK.exec(value) ?? [];
    const at = step === undefined ? {} : { step };
    return tensor === undefined ? { kind, value: rank, ...at } : { kind: 'tensor', value: tensor, rank: Number(rank), ...at };
  }
  if (kind === 'tensor') {
    const [, name = value, step] = TENSOR.exec(value) ?? [];
    return { kind, value: name, ...(step === undefined ? {} : { step }) };
  }
  return { kind, value };
}

export function formatAgainst({ kind, value, rank, step }: Against): string {
  if (kind === 'previous') return kind;
  const before = rank === undefined ? '' : `rank:${rank},`;
  return `${before}${kind}:${value}${step === undefined ? '' : `@${step}`}`;
}

export function isComplete({ kind, value }: Against): boolean {
  if (kind === 'previous') return true;
  if (kind === 'tensor') return /:\d+$/.test(value);
  if (kind === 'run') return parseRunSide(value).run !== '';
  return /^\d+$/.test(value);
}

export interface RunSide {
  run: string;
  // Null: as on this side.
  rank: number | null;
  tensor: string | null;
  step: string | null;
}

// Reads "abc:0,tensor:scope/node:0@3". Ids of runs have neither colons nor "@".
export function parseRunSide(value: string): RunSide {
  const match = /^([^:@]*?)(?::(\d+))?(?:,tensor:(.*?:\d+))?(?:@(\d+))?$/.exec(value);
  return {
    run: match?.[1] ?? '',
    rank: match?.[2] === undefined ? null : Number(match[2]),
    tensor: match?.[3] ?? null,
    step: match?.[4] ?? null,
  };
}

// The request for the values of the other side. `now` is the step of a job whose query names none.
export function otherQuery(query: ValueQuery, { kind, value, rank, step }: Against, now = 0): ValueQuery {
  switch (kind) {
    case 'previous':
      return { ...query, step: 'previous' };
    case 'step':
      return { ...query, step: value };
    case 'rank':
      return { ...query, rank: Number(value), step: step ?? query.step };
    case 'tensor':
      return { ...query, name: value, rank: rank ?? query.rank, step: step ?? query.step };
    case 'run': {
      const side = parseRunSide(value);
      return {
        ...query,
        job: runId(side.run),
        name: side.tensor ?? query.name,
        rank: side.rank ?? query.rank,
        step: side.step ?? query.step ?? String(now),
      };
    }
  }
}

// The other steps at which a recorded run has the values, the nearest earlier one first; null for
// a job.
export function useSavedSteps(tensor: Pick<TensorSummary, 'name'>, query: ValueQuery): readonly number[] | null {
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
