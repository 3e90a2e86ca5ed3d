// Finds runs of repeated patterns in a sequence: a b c b c b c d has the run "b c" × 3.

export interface Run {
  // First position, length of the pattern, and how often it follows.
  at: number;
  period: number;
  times: number;
}

function timesAt(sequence: readonly number[], at: number, period: number): number {
  let end = at + period;
  while (end < sequence.length && sequence[end] === sequence[end - period]) end += 1;
  return Math.floor((end - at) / period);
}

// From left to right, the runs of patterns of one length. `wanted` excludes those that are not worth it.
export function repeatsIn(sequence: readonly number[], period: number, wanted: (run: Run) => boolean): Run[] {
  const runs: Run[] = [];
  for (let at = 0; at + 2 * period <= sequence.length; ) {
    const run = { at, period, times: timesAt(sequence, at, period) };
    const found = run.times >= 2 && wanted(run);
    if (found) runs.push(run);
    at += found ? period * run.times : 1;
  }
  return runs;
}
