// Speed and size of the page on synthetic graphs: `tools/dev bench webui [OPTIONS]`.
//   --runs N        number of runs of each measurement (20)
//   --only 3,8      measure these rows only
//   --dist          use the page in webui/dist instead of the one embedded in the server
//   --server URL    use a server that has the jobs 3k, 20k and 100k; skips rows 11 and 15
import { parseArgs } from 'node:util';
import { once } from 'node:events';
import { get } from 'node:http';
import { heapBytes, firstGraph, frameTimes, loadedBytes, openBrowser, openPage, takeMeasures, tasksWhile } from './browser.mjs';
import { layoutRows } from './layout.mjs';
import { overviewRows } from './overview.mjs';
import { servePage, Servers } from './servers.mjs';
import { p95, Table } from './table.mjs';

const { values: flags } = parseArgs({
  options: {
    runs: { type: 'string', default: '20' },
    only: { type: 'string', default: '' },
    dist: { type: 'boolean', default: false },
    server: { type: 'string', default: '' },
  },
});
const RUNS = Number(flags.runs);
const only = new Set(flags.only.split(',').filter((row) => row !== ''));
const wants = (...rows) => only.size === 0 || rows.some((row) => only.has(String(row)));
const table = new Table();
const jobAddress = (graph, query = '') => `${address}/#/jobs/${graph}${query}`;

async function withPage(graph, options, act) {
  const browser = await openBrowser(options);
  try {
    const page = await openPage(browser, jobAddress(graph, options.query));
    // The panels are drawn after the graph.
    await page.locator('.tree-chevron-button').first().waitFor();
    return await act(page, browser);
  } finally {
    await browser.close();
  }
}

async function coldStarts(graph) {
  const times = [];
  let bytes = null;
  const browser = await openBrowser();
  try {
    // Contexts share no cache, so each start is cold although the browser is warm.
    for (let i = 0; i <= RUNS; i += 1) {
      const page = await openPage(browser, jobAddress(graph));
      if (i > 0) times.push(await firstGraph(page));
      bytes ??= await loadedBytes(page);
      await page.context().close();
    }
  } finally {
    await browser.close();
  }
  return { times, bytes: { ...bytes, index: await sentBytes(`${server}/api/v1/jobs/${graph}/graph/index`) } };
}

// Compressed sizes, as transferred.
async function sentBytes(address) {
  const [reply] = await once(get(address, { headers: { 'Accept-Encoding': 'gzip' } }), 'response');
  let bytes = 0;
  for await (const chunk of reply) bytes += chunk.length;
  return bytes;
}

// Opens and closes scopes by clicks on visible chevrons.
async function toggles(page, count) {
  const times = [];
  for (let i = 0; i < count; i += 1) {
    await page.evaluate((pick) => {
      const chevrons = [...document.querySelectorAll('.tree-chevron-button')];
      chevrons[(pick * 7919) % chevrons.length]?.dispatchEvent(new MouseEvent('click', { bubbles: true }));
    }, i);
    times.push(...(await takeMeasures(page, 'graphdbg:expand')));
    await page.waitForTimeout(250);
  }
  return times;
}

// Goes to nodes throughout the graph by search. Returns the times of key presses and reveals.
async function reveals(page, graph, count) {
  const answer = await fetch(`${server}/api/v1/jobs/${graph}/graph/search?q=forward/layers&kind=op&limit=1000`);
  const { nodes } = await answer.json();
  const keys = [];
  const opened = [];
  for (let i = 0; i < count; i += 1) {
    const { name } = nodes[(i * 7919) % nodes.length];
    await page.keyboard.press('/');
    await page.keyboard.type(name.slice(-9), { delay: 5 });
    await page.getByRole('searchbox').fill(name);
    keys.push(...(await takeMeasures(page, 'graphdbg:search')));
    await page.getByRole('option', { name, exact: true }).first().waitFor();
    await page.keyboard.press('Enter');
    opened.push(
      ...(await page.evaluate(async () => {
        await new Promise((done) => setTimeout(done, 60));
        const times = performance.getEntriesByName('graphdbg:expand').map((entry) => entry.duration);
        performance.clearMeasures('graphdbg:expand');
        return times;
      })),
    );
    await page.keyboard.press('Escape');
  }
  return { keys, opened };
}

// Runs in the page, once per frame.
/* oxlint-disable no-undef */
const scrollTree = (i) => {
  // Reading the tree's height would force an additional layout in each frame.
  document.querySelector('.tree').scrollTop = (i * 1700) % 2_000_000;
};
const panGraph = (i) => {
  const frame = document.querySelector('.graph-frame');
  const turn = i / 20;
  const event = { deltaX: Math.cos(turn) * 40, deltaY: Math.sin(turn) * 40, bubbles: true, cancelable: true };
  frame.dispatchEvent(new WheelEvent('wheel', event));
};
const zoomGraph = (i) => {
  const frame = document.querySelector('.graph-frame');
  const { left, top, width, height } = frame.getBoundingClientRect();
  const at = { clientX: left + width / 2, clientY: top + height / 2 };
  frame.dispatchEvent(new WheelEvent('wheel', { ...at, deltaY: i % 80 < 40 ? -22 : 22, ctrlKey: true, bubbles: true, cancelable: true }));
};
/* oxlint-enable no-undef */

const everything = (page) => page.getByRole('button', { name: 'Open all scopes' }).click();

async function panTimes(page) {
  const times = await frameTimes(page, 200, panGraph);
  times.push(...(await frameTimes(page, 200, zoomGraph)));
  return times;
}

// Slices of a 1,000 × 1,000 weight: from the last byte to the paint.
async function slices() {
  await servers.startTraining('slices');
  const query = (slice) => `?node=${encodeURIComponent('forward/square/weight')}&slice=${encodeURIComponent(slice)}`;
  const times = [];
  await withPage('slices', { query: query('0:10,0:10') }, async (page) => {
    await takeMeasures(page, 'graphdbg:slice-paint');
    for (let i = 0; i < RUNS; i += 1) {
      await page.waitForTimeout(500);
      // All slices differ, so none is cached.
      await page.evaluate((hash) => void (location.hash = hash), `/jobs/slices${query(`0:${1000 - i},0:1000`)}`);
      times.push(...(await takeMeasures(page, 'graphdbg:slice-paint')));
    }
  });
  table.addTimes(11, 'slice of 1,000 x 1,000, last byte to paint', times, { p50: 50 });
}

// 10,000 hits in one step while the page is open.
async function bursts() {
  await servers.startTraining('hits');
  await servers.post('/jobs/hits/control', { command: 'step', steps: 1 });
  await servers.until('hits', ({ state, step }) => state === 'paused' && step > 0);
  const condition = { id: 'expression', params: { expression: 'count > 0' } };
  await servers.post('/jobs/hits/watchpoints', { condition, pause: 'none', patterns: ['forward/neg*'] });
  await withPage('hits', {}, async (page, browser) => {
    await page.getByRole('tab', { name: 'Hits' }).waitFor();
    await page.waitForTimeout(2000);
    const tasks = await tasksWhile(browser, page, async () => {
      await servers.post('/jobs/hits/control', { command: 'step', steps: 1 });
      await page.getByRole('tab', { name: 'Hits 10k' }).waitFor({ timeout: 60_000 });
      await page.waitForTimeout(1000);
    });
    table.addTimes(15, 'tasks while 10,000 hits arrive, processor time', tasks, { worst: 50 });
  });
}

async function measure() {
  if (wants(1, 12, 13)) {
    const { times, bytes } = await coldStarts('100k');
    table.addTimes(1, 'navigation to first graph, 100,000 ops, cold', times, { p50: 500, p95: 800 });
    table.add(12, 'scripts and styles of the first view, compressed', 'KB', bytes.code / 1024, 200);
    table.add(13, 'graph index, 100,000 ops, compressed', 'KB', bytes.index / 1024, 400);
  }
  if (wants(2)) {
    const { times } = await coldStarts('3k');
    table.addTimes(2, 'navigation to first graph, 3,000 ops, cold', times, { p50: 250 });
  }
  if (wants(3, 4)) {
    const times = {};
    for (const graph of ['3k', '20k', '100k']) {
      times[graph] = await withPage(graph, {}, (page) => toggles(page, Math.max(40, RUNS * 2)));
    }
    table.addTimes(3, 'scope opened or closed, 3,000 ops', times['3k'], { p95: 50 });
    table.addTimes(3, 'scope opened or closed, 20,000 ops', times['20k'], { p95: 50 });
    table.addTimes(3, 'scope opened or closed, 100,000 ops', times['100k'], { p50: 25, p95: 50 });
    table.add(4, 'the same, 100,000 over 3,000 ops, p95', 'x', p95(times['100k']) / p95(times['3k']), 2);
  }
  if (wants(5)) {
    const times = [];
    for (let i = 0; i < RUNS; i += 1) {
      await withPage('3k', {}, async (page) => {
        await page.waitForTimeout(400);
        await everything(page);
        times.push(...(await takeMeasures(page, 'graphdbg:expand')));
      });
    }
    table.addTimes(5, 'all scopes opened, 3,000 ops', times, { p50: 50 });
  }
  if (wants(6)) await layoutRows(table, server);
  if (wants(8, 16)) {
    await withPage('100k', {}, async (page, browser) => {
      const { keys, opened } = await reveals(page, '100k', only.size > 0 && !wants(16) ? 20 : 300);
      table.addTimes(8, 'search in 100,000 names, key to painted list', keys, { p95: 33 });
      table.addTimes(3, 'node revealed, 100,000 ops', opened, { p95: 50 });
      table.add(16, 'heap after 300 reveals, page and workers', 'MB', (await heapBytes(browser)) / 2 ** 20, 150);
    });
  }
  if (wants(9, 10)) {
    await withPage('100k', { uncapped: true }, async (page) => {
      await everything(page);
      await takeMeasures(page, 'graphdbg:expand');
      await page.waitForTimeout(1000);
      if (wants(9)) table.addTimes(9, 'tree scrolled, 100,000 rows, frame', await frameTimes(page, 200, scrollTree), { p95: 8 });
      if (!wants(10)) return;
      table.addTimes(10, 'panned and zoomed, 100,000 boxes, all in view, frame', await panTimes(page), { p95: 10 });
      await page.evaluate(`(${zoomGraph})(0); for (let i = 0; i < 60; i += 1) (${zoomGraph})(i % 40)`);
      table.addTimes(10, 'panned and zoomed, 100,000 boxes, closer, frame', await panTimes(page), { p95: 10 });
    });
  }
  if (wants(11) && flags.server === '') await slices();
  if (wants(15) && flags.server === '') await bursts();
  if (wants(17, 18)) await overviewRows(table, RUNS);
  if (wants(14)) {
    const answer = await fetch(`${server}/api/v1/jobs/100k/graph/search?q=forward/layers&kind=scope&limit=1000`);
    const { nodes } = await answer.json();
    const sizes = [];
    for (let i = 0; i < 200; i += 1) {
      const name = encodeURIComponent(nodes[(i * 7919) % nodes.length].name);
      const reply = await fetch(`${server}/api/v1/jobs/100k/graph/scope?aggregate=64&name=${name}`);
      sizes.push((await reply.text()).length);
    }
    table.add(14, 'a scope by itself, for clients without the index, p95', 'B', p95(sizes), 1024, '(sent as JSON, uncompressed)');
  }
}

const servers = new Servers();
// The overview has a server of its own.
const alone = [...only].every((row) => row === '17' || row === '18') && only.size > 0;
const server = alone ? '' : flags.server || (await servers.start(['3k', '20k', '100k']));
const own = flags.dist && !alone ? await servePage(server) : null;
const address = own?.address ?? server;
try {
  await measure();
  process.stdout.write(`\n${table.markdown()}\n`);
} finally {
  own?.close();
  servers.stop();
}
process.exitCode = table.missed === 0 ? 0 : 1;
