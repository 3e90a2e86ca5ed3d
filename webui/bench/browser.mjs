// Headless Chromium, and measurements of the page in it.
import { chromium } from 'playwright-core';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--enable-precise-memory-info',
];
// Without a frame rate limit, so that the time between frames is their cost.
const UNCAPPED = ['--disable-frame-rate-limit', '--disable-gpu-vsync'];

export async function openBrowser({ uncapped = false } = {}) {
  return await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: uncapped ? [...FLAGS, ...UNCAPPED] : FLAGS,
  });
}

// A new window does some initial work that is not part of the page.
const SETTLED_MS = 1500;

export async function openPage(browser, address) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.on('pageerror', (error) => process.stderr.write(`page: ${error.message}\n`));
  await page.waitForTimeout(SETTLED_MS);
  await page.goto(address);
  await page.waitForFunction(() => performance.getEntriesByName('graphdbg:first-graph').length > 0, null, { timeout: 60_000 });
  return page;
}

export const firstGraph = (page) =>
  page.evaluate(() => performance.getEntriesByName('graphdbg:first-graph')[0].startTime);

// Waits for `count` measures of this name and returns those since the last call.
export async function takeMeasures(page, name, count = 1) {
  await page.waitForFunction(
    ([wanted, least]) => performance.getEntriesByName(wanted).length >= least,
    [name, count],
    { timeout: 30_000 },
  );
  return await page.evaluate((wanted) => {
    const times = performance.getEntriesByName(wanted).map((entry) => entry.duration);
    performance.clearMeasures(wanted);
    return times;
  }, name);
}

// Transferred bytes by kind of file.
export async function loadedBytes(page) {
  return await page.evaluate(() => {
    const sum = (kind) =>
      performance
        .getEntriesByType('resource')
        .filter((entry) => kind.test(new URL(entry.name).pathname))
        .reduce((total, entry) => total + entry.encodedBodySize, 0);
    return { code: sum(/\.(js|css)$/) };
  });
}

// Heap size of the page and its workers after garbage collection.
export async function heapBytes(browser) {
  const session = await browser.newBrowserCDPSession();
  const { targetInfos } = await session.send('Target.getTargets');
  let total = 0;
  for (const { targetId, type, url } of targetInfos) {
    if ((type !== 'page' && type !== 'worker') || url === 'about:blank') continue;
    total += await heapOf(session, targetId);
  }
  await session.detach();
  return total;
}

async function heapOf(session, targetId) {
  const { sessionId } = await session.send('Target.attachToTarget', { targetId, flatten: false });
  const send = (id, method) =>
    new Promise((resolve) => {
      const listen = (event) => {
        const message = JSON.parse(event.message);
        if (event.sessionId !== sessionId || message.id !== id) return;
        session.off('Target.receivedMessageFromTarget', listen);
        resolve(message.result);
      };
      session.on('Target.receivedMessageFromTarget', listen);
      void session.send('Target.sendMessageToTarget', { sessionId, message: JSON.stringify({ id, method }) });
    });
  await send(1, 'HeapProfiler.collectGarbage');
  const usage = await send(2, 'Runtime.getHeapUsage');
  await session.send('Target.detachFromTarget', { sessionId });
  return usage.usedSize + (usage.backingStorageSize ?? 0);
}

// Times between frames while `step(i)` runs once per frame. `step` is evaluated in the page.
export async function frameTimes(page, frames, step) {
  return await page.evaluate(
    async ([count, code]) => {
      const act = new Function(`return (${code})`)();
      const times = [];
      await new Promise((done) => {
        let last = 0;
        let i = 0;
        const tick = () => {
          const now = performance.now();
          if (i > 5) times.push(now - last);
          last = now;
          if (i++ === count) return done();
          act(i);
          requestAnimationFrame(tick);
        };
        requestAnimationFrame(tick);
      });
      return times;
    },
    [frames, step.toString()],
  );
}

// CPU times in ms of the main thread's tasks while `act` runs. Wall-clock times would include waiting
// for the server and the training job, which share the few cores.
export async function tasksWhile(browser, page, act) {
  const main = 'CrRendererMain';
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline', '__metadata'] });
  await act();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const threads = new Set(
    traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === main).map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return traceEvents
    .filter(({ name, pid, tid }) => name.endsWith('RunTask') && threads.has(`${pid} ${tid}`))
    .map(({ tdur }) => (tdur ?? 0) / 1000);
}
