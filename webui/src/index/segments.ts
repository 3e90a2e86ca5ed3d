// Divides a flat graph where a single value passes from what is before to what is after: between the
// blocks of a network, and between the ops of a chain.

export interface Links {
  // Pairs of positions in the order of execution.
  from: readonly number[];
  to: readonly number[];
}

// Values that many ops read all over the graph, such as a mask, pass by every block.
const MANY_READERS = 6;
const FAR = 0.25;

// Returns the first position of each segment. `aside`: inputs and shared weights, which pass by, too.
export function segmentsOf(count: number, { from, to }: Links, aside: (at: number) => boolean): number[] {
  const last = Int32Array.from({ length: count }, (_, at) => at);
  const readers = new Int32Array(count);
  from.forEach((source, i) => {
    last[source] = Math.max(last[source] as number, to[i] as number);
    readers[source] = (readers[source] as number) + 1;
  });
  const far = Math.max(20, count * FAR);
  const starting = new Int32Array(count + 1);
  for (let at = 0; at < count; at += 1) {
    const passesBy = (readers[at] as number) >= MANY_READERS && (last[at] as number) - at > far;
    if (aside(at) || passesBy) continue;
    starting[at] = (starting[at] as number) + 1;
    starting[last[at] as number] = (starting[last[at] as number] as number) - 1;
  }
  const starts = [0];
  let live = 0;
  for (let at = 0; at < count - 1; at += 1) {
    live += starting[at] as number;
    if (live <= 1) starts.push(at + 1);
  }
  return starts;
}

// Within a segment from `begin` to `end`: chains of ops that read only each other.
export function chainsOf(begin: number, end: number, { from, to }: Links): number[][] {
  const inside = (at: number) => at >= begin && at < end;
  const next = new Map<number, number>();
  const reads = new Map<number, number>();
  from.forEach((source, i) => {
    const reader = to[i] as number;
    if (!inside(source) || !inside(reader)) return;
    next.set(source, next.has(source) && next.get(source) !== reader ? -1 : reader);
    reads.set(reader, (reads.get(reader) ?? 0) + 1);
  });
  const follows = new Set<number>();
  const chains: number[][] = [];
  for (let at = begin; at < end; at += 1) {
    if (follows.has(at)) continue;
    const chain = [at];
    for (;;) {
      const reader = next.get(chain.at(-1) as number) ?? -1;
      if (reader <= (chain.at(-1) as number) || reads.get(reader) !== 1) break;
      follows.add(reader);
      chain.push(reader);
    }
    chains.push(chain);
  }
  return chains;
}
