// Watchpoints that are never met. They are there for what the job keeps for them at
// each step: statistics of all that is watched, and the values of the step before for
// conditions that compare with them.

import type { WatchpointSpec } from '../api/types';

export type Keeping = 'history' | 'previous';

// No step is below 0, and what follows an "and" that cannot hold is not even measured.
const EXPRESSIONS: Record<Keeping, string> = {
  history: 'step < 0',
  previous: 'step < 0 && change_abs_max > 0',
};

const WORDS: Record<Keeping, string> = {
  history: 'Records statistics of each step',
  previous: 'Keeps the values of the step before',
};

type Condition = WatchpointSpec['condition'];

export function keepingSpec(what: Keeping, node: string): WatchpointSpec {
  return {
    condition: { id: 'expression', params: { expression: EXPRESSIONS[what] } },
    nodes: [node],
    scopes: [],
    patterns: [],
    categories: [],
    pause: 'none',
    enabled: true,
  };
}

// Null: it is there for its hits.
export function keepingOf({ id, params }: Condition): Keeping | null {
  if (id !== 'expression') return null;
  if (params['expression'] === EXPRESSIONS.history) return 'history';
  return params['expression'] === EXPRESSIONS.previous ? 'previous' : null;
}

export function keepingText(condition: Condition): string | null {
  const what = keepingOf(condition);
  return what === null ? null : WORDS[what];
}

// Whether what it watches is kept in this way, whatever it is there for.
export function keeps(what: Keeping, { id, params }: Condition): boolean {
  if (what === 'history') return true;
  if (id === 'expression') return /\b(change|previous)_/.test(String(params['expression']));
  return /_not_changed$|_change_too_(large|small)$/.test(id);
}
