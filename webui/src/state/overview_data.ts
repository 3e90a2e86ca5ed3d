// The overview as far as it is loaded, built from the server's answers. Pure functions.

import type { Floats } from '../api/http';
import type { Overview, OverviewStep } from '../api/types';
import type { Matrix } from '../overview/matrix';
import type { Measure } from '../overview/measures';
import { columnOf } from '../overview/steps';

export interface OverviewData {
  // The ranks that have an overview.
  ranks: readonly number[];
  modules: readonly string[];
  // Ascending. The rows of both matrices are of these steps.
  steps: readonly OverviewStep[];
  measure: Measure;
  values: Matrix;
  // Counts of what is not finite.
  bad: Matrix;
  // How many steps were dropped from the begin since the overview was opened.
  dropped: number;
  // When the last answer was complete, in ms since navigation.
  received_at: number;
}

// The server's limit.
const MAX_STEPS = 1000;

export interface Answers {
  // Requested after the other two, so that it has their steps.
  overview: Overview;
  values: Floats;
  bad: Floats;
}

// The column of the first row of the matrix; null if the matrix is of other steps or modules.
function firstColumn({ modules, steps }: Overview, { rows, columns, step }: Floats): number | null {
  if (rows === 0) return steps.length;
  const last = columnOf(steps, step);
  if (columns !== modules.length || steps[last]?.step !== step) return null;
  return last - rows + 1;
}

// What all three answers have in common; null if a process has started again between them, or
// has run new modules.
export function assemble(measure: Measure, { overview, values, bad }: Answers, received_at: number): OverviewData | null {
  const { ranks, modules, steps } = overview;
  const starts = [firstColumn(overview, values), firstColumn(overview, bad)];
  const [start, badStart] = starts;
  if (start === null || badStart === null || start === undefined || badStart === undefined) return null;
  const begin = Math.max(0, start, badStart);
  const end = Math.max(begin, Math.min(start + values.rows, badStart + bad.rows));
  const part = (matrix: Floats, from: number): Matrix => ({
    modules: modules.length,
    steps: end - begin,
    values: matrix.values.subarray((begin - from) * modules.length, (end - from) * modules.length),
  });
  return {
    ranks, modules, measure, received_at, dropped: 0, steps: steps.slice(begin, end),
    values: part(values, start), bad: part(bad, badStart),
  };
}

function join(before: Matrix, after: Matrix, drop: number): Matrix {
  const { modules } = before;
  const values = new Float32Array((before.steps + after.steps - drop) * modules);
  const kept = before.values.subarray(drop * modules);
  values.set(kept);
  values.set(after.values.subarray(Math.max(0, drop - before.steps) * modules), kept.length);
  return { modules, steps: values.length / modules, values };
}

// Adds later steps. Null if they are of other modules.
export function append(before: OverviewData, later: OverviewData): OverviewData | null {
  if (later.steps.length === 0) return before;
  if (later.modules.length !== before.modules.length || later.measure !== before.measure) return null;
  const steps = [...before.steps, ...later.steps];
  const drop = Math.max(0, steps.length - MAX_STEPS);
  return {
    ...later,
    dropped: before.dropped + drop,
    steps: steps.slice(drop),
    values: join(before.values, later.values, drop),
    bad: join(before.bad, later.bad, drop),
  };
}
