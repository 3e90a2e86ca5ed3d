// Watchpoints that never match and only make the job keep data at each step: statistics of the
// watched tensors, or also their previous values, which some conditions compare with.

import type { WatchpointSpec } from '../api/types';
import { keepingNames } from '../words/watch';

export type Keeping = 'history' | 'previous';

// `step < 0` is never true, and after a false operand the rest of an "and" is not measured.
const EXPRESSIONS: Record<Keeping, string> = {
  history: 'step < 0',
  previous: 'step < 0 && change_abs_max > 0',
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

// Returns null for a normal watchpoint.
export function keepingOf({ id, params }: Condition): Keeping | null {
  if (id !== 'expression') return null;
  if (params['expression'] === EXPRESSIONS.history) return 'history';
  return params['expression'] === EXPRESSIONS.previous ? 'previous' : null;
}

export function keepingText(condition: Condition): string | null {
  const what = keepingOf(condition);
  return what === null ? null : keepingNames[what];
}

// Returns whether a watchpoint with this condition makes the job keep such data.
export function keeps(what: Keeping, { id, params }: Condition): boolean {
  if (what === 'history') return true;
  if (id === 'expression') return /\b(change|previous)_/.test(String(params['expression']));
  return /_not_changed$|_change_too_(large|small)$/.test(id);
}
