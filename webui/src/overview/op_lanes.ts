// The ops of one step on a time axis: one lane per thread.

export interface TimedOp {
  node: string;
  op_type: string;
  thread: number;
  start_us: number;
  duration_us: number;
}

// The ops of a thread, by their begin. They do not overlap.
export interface Lane {
  thread: number;
  // Their numbers among all ops.
  ops: Int32Array;
  starts: Float64Array;
  ends: Float64Array;
}

export function lanesOf(ops: readonly TimedOp[]): Lane[] {
  const numbers = new Map<number, number[]>();
  ops.forEach(({ thread }, number) => {
    const lane = numbers.get(thread);
    if (lane === undefined) numbers.set(thread, [number]);
    else lane.push(number);
  });
  return [...numbers.keys()].toSorted((a, b) => a - b).map((thread) => {
    const own = (numbers.get(thread) ?? []).toSorted((a, b) => (ops[a] as TimedOp).start_us - (ops[b] as TimedOp).start_us);
    const of = (read: (op: TimedOp) => number) => Float64Array.from(own, (number) => read(ops[number] as TimedOp));
    return { thread, ops: Int32Array.from(own), starts: of((op) => op.start_us), ends: of((op) => op.start_us + op.duration_us) };
  });
}

// The number of values that are at most `limit`; the values are ascending.
function countUpTo(values: Float64Array, limit: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] as number) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Bar {
  // In pixels.
  x: number;
  width: number;
  // The op's place in the lane; of several ops that share a pixel, that of the longest.
  place: number;
  // How many ops the bar stands for.
  count: number;
}

// What is drawn of a lane between two times, on `width` pixels. Ops that are narrower than a pixel
// share the bar of that pixel, so that there are at most about as many bars as pixels.
export function barsOf({ starts, ends }: Lane, span: { from: number; to: number }, width: number): Bar[] {
  const bars: Bar[] = [];
  const scale = width / (span.to - span.from);
  let shared = -1;
  for (let place = countUpTo(ends, span.from); place < starts.length; place += 1) {
    const [start, end] = [starts[place] as number, ends[place] as number];
    if (start >= span.to) break;
    const size = (end - start) * scale;
    const x = (start - span.from) * scale;
    if (size >= 1) {
      bars.push({ x, width: size, place, count: 1 });
      shared = -1;
      continue;
    }
    const pixel = Math.floor(x);
    const last = bars.at(-1);
    if (last !== undefined && pixel === shared) {
      last.count += 1;
      if (end - start > (ends[last.place] as number) - (starts[last.place] as number)) last.place = place;
      continue;
    }
    bars.push({ x: pixel, width: 1, place, count: 1 });
    shared = pixel;
  }
  return bars;
}

// The place of the op at a time, or of the longest one less than `slack` away; -1 if there is none.
export function opAt({ starts, ends }: Lane, time: number, slack: number): number {
  let found = -1;
  for (let place = countUpTo(ends, time - slack); place < starts.length; place += 1) {
    const [start, end] = [starts[place] as number, ends[place] as number];
    if (start > time + slack) break;
    if (start <= time && time < end) return place;
    if (found < 0 || end - start > (ends[found] as number) - (starts[found] as number)) found = place;
  }
  return found;
}

// The place of the op that begins last before a time, else of the first one.
export function opBefore({ starts }: Lane, time: number): number {
  return Math.max(0, countUpTo(starts, time) - 1);
}

// The numbers of the ops that took longest.
export function slowestOf(ops: readonly TimedOp[], count: number): number[] {
  return ops
    .map((_, number) => number)
    .toSorted((a, b) => (ops[b] as TimedOp).duration_us - (ops[a] as TimedOp).duration_us)
    .slice(0, count);
}
