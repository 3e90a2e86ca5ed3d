// The layout by itself, in Node's V8, on sources as they are.
import { createServer } from 'vite';

const ROUNDS = 20;

// Layered, with branches and long edges; the same each time.
function flatGraph(count) {
  let seed = 7;
  const random = (limit) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % limit;
  };
  const edges = [];
  for (let i = 1; i < count; i += 1) {
    edges.push([Math.max(0, i - 1 - random(12)), i]);
    if (i % 2 === 0) edges.push([Math.max(0, i - 1 - random(40)), i]);
    if (i % 50 === 0) edges.push([random(i), i]);
  }
  return {
    widths: Array.from({ length: count }, (_, i) => 60 + ((i * 37) % 120)),
    heights: Array.from({ length: count }, () => 38),
    edges,
    aspect: 1.5,
  };
}

export async function layoutRows(table) {
  const vite = await createServer({ logLevel: 'error', server: { middlewareMode: true } });
  try {
    const { layoutFlat } = await vite.ssrLoadModule('/src/graph/flat.ts');
    const graph = flatGraph(5000);
    const times = [];
    for (let i = 0; i < ROUNDS; i += 1) {
      const begin = performance.now();
      layoutFlat(graph);
      times.push(performance.now() - begin);
    }
    table.addTimes(6, 'flat layout of 5,000 boxes', times, { p50: 100 });
  } finally {
    await vite.close();
  }
}
