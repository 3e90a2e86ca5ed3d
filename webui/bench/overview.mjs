// The overview of 500 modules over 1,000 steps, and of a step with 10,000 ops, in webui/dist on the fixture server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { frameTimes, openBrowser, openPage, takeMeasures } from './browser.mjs';

// A frame at 60 frames per second.
const FRAME_MS = 16.7;

async function withOverview(options, act) {
  const args = [join(import.meta.dirname, '../dev/fixture_server.mjs'), '--port', '0', '--overview', 'large'];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const browser = await openBrowser(options);
  try {
    const [line] = await once(server.stdout, 'data');
    const page = await openPage(browser, `${line.toString().trim()}#/jobs/digits-1`);
    await page.getByRole('tab', { name: 'Overview' }).click();
    // One row for each module, all of them in view.
    await page.getByRole('button', { name: 'Open all groups' }).click();
    await page.getByRole('button', { name: 'Fit rows to view' }).click();
    await page.waitForTimeout(500);
    return await act(page);
  } finally {
    await browser.close();
    server.kill('SIGKILL');
  }
}

// Switches between two measures, each of which is loaded again.
async function paints(page, runs) {
  const times = { whole: [], paint: [] };
  for (let i = 0; i <= runs; i += 1) {
    await page.waitForTimeout(300);
    await page.evaluate(() => performance.clearMeasures());
    await page.getByRole('tab', { name: i % 2 === 0 ? 'Gradient' : 'Activation' }).click();
    const [whole] = await takeMeasures(page, 'graphdbg:overview');
    const [paint] = await takeMeasures(page, 'graphdbg:overview-paint');
    // The server computes its figures once.
    if (i < 2) continue;
    times.whole.push(whole);
    times.paint.push(paint);
  }
  return times;
}

// Run in the page, once per frame.
/* oxlint-disable no-undef */
const pan = (i) => {
  const map = document.querySelector('.overview-map');
  map.dispatchEvent(new WheelEvent('wheel', { deltaX: i % 80 < 40 ? 9 : -9, bubbles: true, cancelable: true }));
};
const zoom = (i) => {
  const map = document.querySelector('.overview-map');
  const { left, top, width } = map.getBoundingClientRect();
  map.dispatchEvent(new WheelEvent('wheel', { clientX: left + width / 2, clientY: top + 40, deltaY: i % 80 < 40 ? -22 : 22, ctrlKey: true, bubbles: true, cancelable: true }));
};
const panOps = (i) => {
  const ops = document.querySelector('.op-timeline');
  ops.dispatchEvent(new WheelEvent('wheel', { deltaX: i % 80 < 40 ? 9 : -9, bubbles: true, cancelable: true }));
};
const zoomOps = (i) => {
  const ops = document.querySelector('.op-timeline');
  const { left, top, width } = ops.getBoundingClientRect();
  ops.dispatchEvent(new WheelEvent('wheel', { clientX: left + width / 2, clientY: top + 30, deltaY: i % 80 < 40 ? -22 : 22, bubbles: true, cancelable: true }));
};
/* oxlint-enable no-undef */

export async function overviewRows(table, runs) {
  const { whole, paint } = await withOverview({}, (page) => paints(page, runs));
  table.addTimes(17, 'overview, 500 modules x 1,000 steps, last byte to paint', paint, { p50: 100 });
  table.addTimes(17, 'the same, from the click, loaded', whole, { p50: 100 });
  await withOverview({ uncapped: true }, async (page) => {
    await page.getByRole('button', { name: 'Zoom in on steps' }).click();
    table.addTimes(18, 'overview panned, frame', await frameTimes(page, 200, pan), { p95: FRAME_MS });
    table.addTimes(18, 'overview zoomed, frame', await frameTimes(page, 200, zoom), { p95: FRAME_MS });
    await page.getByRole('tab', { name: 'Time', exact: true }).click();
    await page.getByRole('img', { name: /^Ops of step 1,000: 10,000 ops/ }).waitFor();
    table.addTimes(18, '10,000 ops zoomed, frame', await frameTimes(page, 200, zoomOps), { p95: FRAME_MS });
    table.addTimes(18, '10,000 ops panned, frame', await frameTimes(page, 200, panOps), { p95: FRAME_MS });
  });
}
