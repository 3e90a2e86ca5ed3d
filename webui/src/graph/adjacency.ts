// Neighbour lists in two arrays: the neighbours of `i` are others[start[i]] to
// others[start[i + 1] - 1].

export interface Adjacency {
  start: Int32Array;
  others: Int32Array;
}

export function gatherNeighbours(count: number, of: Int32Array, others: Int32Array): Adjacency {
  const start = new Int32Array(count + 1);
  for (const node of of) start[node + 1]! += 1;
  for (let i = 0; i < count; i += 1) start[i + 1]! += start[i] as number;
  const next = start.slice();
  const gathered = new Int32Array(of.length);
  for (let i = 0; i < of.length; i += 1) {
    const node = of[i] as number;
    gathered[next[node] as number] = others[i] as number;
    next[node]! += 1;
  }
  return { start, others: gathered };
}
