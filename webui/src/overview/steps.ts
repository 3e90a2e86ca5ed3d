// Facts about the steps of an overview.

export interface StepTime {
  step: number;
  duration_ms: number;
  measuring_ms: number;
}

// The share of the steps' time that measuring took; null if it is not known.
export function measuringShare(steps: readonly StepTime[]): number | null {
  let [all, measuring] = [0, 0];
  for (const step of steps) {
    all += step.duration_ms;
    measuring += step.measuring_ms;
  }
  return all > 0 ? measuring / all : null;
}

// The usual time of a step without measuring, in seconds; null if none is known. The median, because a step
// also lasts while the job is stopped within it.
export function usualStepSeconds(steps: readonly StepTime[]): number | null {
  const times = steps.map(({ duration_ms, measuring_ms }) => duration_ms - measuring_ms).filter((time) => time > 0);
  times.sort((a, b) => a - b);
  const middle = times[times.length >> 1];
  return middle === undefined ? null : middle / 1000;
}

// The distance between most steps that follow each other: 1 if no steps are left out.
export function strideOf(steps: readonly StepTime[]): number {
  const counts = new Map<number, number>();
  for (let i = 1; i < steps.length; i += 1) {
    const by = (steps[i] as StepTime).step - (steps[i - 1] as StepTime).step;
    counts.set(by, (counts.get(by) ?? 0) + 1);
  }
  let [stride, most] = [1, 0];
  for (const [by, count] of counts) if (count > most) [stride, most] = [by, count];
  return stride;
}

// The column of a step, or of the last one before it; -1 if all are later.
export function columnOf(steps: readonly { step: number }[], step: number): number {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle] as { step: number }).step <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// The time that bars reach at most: the longest one, unless a few are so long that the others
// would be low.
export function timeLimit(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  const most = sorted.at(-1) ?? 1;
  const usual = (sorted[Math.floor(sorted.length * 0.95)] ?? most) * 1.5;
  return most > 1.5 * usual ? usual : most;
}
