// The layout alone, in Node.js, with the sources bundled as for the page.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const ROUNDS = 20;
const NODES = 5000;

async function load() {
  const folder = mkdtempSync(join(tmpdir(), 'graphdbg-layout-'));
  const file = join(folder, 'layout.mjs');
  try {
    const bundle = await rolldown({ input: join(import.meta.dirname, 'layout_entry.ts') });
    await bundle.write({ file });
    return await import(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// The first ops of a transformer's forward pass with their edges, without scopes.
function flatGraph(index) {
  const edges = [];
  let at = 0;
  for (let node = 0; node < NODES; node += 1) {
    for (; at < index.edgeEnd[node]; at += 1) {
      const from = (node - index.edgeBack[at]) >>> 0;
      if (from < NODES) edges.push([from, node]);
    }
  }
  const widths = Array.from({ length: NODES }, (_, i) => 60 + ((i * 37) % 120));
  return { widths, heights: Array(NODES).fill(38), edges, aspect: 1.5 };
}

export async function layoutRows(table, server) {
  const { readColumns, buildIndex, GraphIndex, layoutFlat } = await load();
  const answer = await fetch(`${server}/api/v1/jobs/20k/graph/index`);
  const graph = flatGraph(new GraphIndex(buildIndex(readColumns(await answer.arrayBuffer()))));
  const times = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    const begin = performance.now();
    layoutFlat(graph);
    times.push(performance.now() - begin);
  }
  table.addTimes(6, `flat layout of ${NODES} boxes, ${graph.edges.length} edges`, times, { p50: 100 });
}
