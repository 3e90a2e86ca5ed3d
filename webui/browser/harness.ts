// Runs a real browser on the built page, served by the fixture server. Needs
// `npm run build` and a Chromium (CHROMIUM, or /usr/bin/chromium).

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser as Chromium, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, expect } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const AXE = readFileSync(join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8');
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export class Fixture {
  private process: ChildProcess | null = null;
  address = '';

  constructor(private readonly flags: string[] = []) {}

  // Uses the same port again after a stop.
  async start(): Promise<void> {
    if (!existsSync(join(ROOT, 'dist/index.html'))) throw new Error('run `npm run build` first');
    const port = this.address === '' ? '0' : new URL(this.address).port;
    const args = [join(ROOT, 'dev/fixture_server.mjs'), '--port', port, ...this.flags];
    const started = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.process = started;
    const [line] = (await once(started.stdout, 'data')) as [Buffer];
    this.address = line.toString().trim();
  }

  async stop(): Promise<void> {
    const running = this.process;
    this.process = null;
    if (running === null || running.exitCode !== null) return;
    running.kill('SIGKILL');
    await once(running, 'exit');
  }
}

export interface Options {
  scheme?: 'light' | 'dark';
  width?: number;
  height?: number;
}

// All tests of a file share one browser process; each has its own context, which is a
// separate profile.
let process_of_file: Promise<Chromium> | null = null;

afterAll(async () => {
  await (await process_of_file)?.close();
  process_of_file = null;
});

export class Browser {
  // Errors of scripts and of the content policy; every test expects none.
  readonly errors: string[] = [];
  readonly outside: string[] = [];

  private constructor(
    private readonly context: BrowserContext,
    readonly page: Page,
  ) {
    page.on('pageerror', (error) => this.errors.push(error.stack ?? error.message));
    page.on('console', (message) => {
      const refused = /Failed to load resource|WebSocket connection/.test(message.text());
      if (message.type() === 'error' && !refused) this.errors.push(message.text());
    });
    page.on('request', (request) => {
      if (new URL(request.url()).hostname !== '127.0.0.1') this.outside.push(request.url());
    });
  }

  static async open({ scheme = 'dark', width = 1280, height = 800 }: Options = {}) {
    process_of_file ??= chromium.launch({ executablePath: CHROMIUM, headless: true, args: QUIET });
    const chrome = await process_of_file;
    const context = await chrome.newContext({ colorScheme: scheme, viewport: { width, height } });
    context.setDefaultTimeout(20_000);
    return new Browser(context, await context.newPage());
  }

  async close(): Promise<void> {
    await this.context.close();
  }

  // The violations that axe finds in the current page.
  async axe(): Promise<string[]> {
    await this.page.evaluate(AXE);
    return await this.page.evaluate(async () => {
      const { axe } = window as unknown as { axe: typeof import('axe-core') };
      // Off by default in axe, but required by WCAG 2.2 AA.
      const { violations } = await axe.run({ rules: { 'target-size': { enabled: true } } });
      return violations.flatMap((found) =>
        found.nodes.map((node) => `${found.id}: ${node.target.join(' ')}: ${node.failureSummary}`),
      );
    });
  }

  async shot(name: string): Promise<void> {
    const folder = process.env['GRAPHDBG_SHOTS'];
    if (folder === undefined) return;
    mkdirSync(folder, { recursive: true });
    await this.page.screenshot({ path: join(folder, `${name}.png`) });
  }
}

// The server and the browser of the current test.
export let fixture: Fixture;
export let browser: Browser;
export let page: Page;

export async function start(flags: string[] = [], options: Options = {}): Promise<void> {
  fixture = new Fixture(flags);
  await fixture.start();
  browser = await Browser.open(options);
  page = browser.page;
}

afterEach(async () => {
  const { errors, outside } = browser;
  await browser.close();
  await fixture.stop();
  expect(errors).toEqual([]);
  expect(outside).toEqual([]);
});

export const button = (name: string) => page.getByRole('button', { name, exact: true });
// Opens the job that the fixture server runs.
export async function openJob(): Promise<void> {
  await page.goto(fixture.address);
  await page.getByRole('link', { name: 'digits_cnn.py' }).click();
  await treeItem('log').waitFor();
}

export const treeItem = (name: string) => page.getByRole('treeitem', { name, exact: true });

// The number of pixels of the canvas with this label that have exactly this colour.
export async function pixelsOf(canvas: string, colour: string): Promise<number> {
  return await page.evaluate(
    ([label, name]) => {
      const found = document.querySelector<HTMLCanvasElement>(`canvas[aria-label^="${label}"]`);
      const context = found?.getContext('2d');
      if (!found || !context) return -1;
      const probe = document.createElement('div');
      probe.style.color = `var(${name})`;
      document.body.append(probe);
      const [r, g, b] = getComputedStyle(probe).color.match(/\d+/g)?.map(Number) ?? [];
      probe.remove();
      const { data } = context.getImageData(0, 0, found.width, found.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        if (data[i] === r && data[i + 1] === g && data[i + 2] === b) count += 1;
      }
      return count;
    },
    [canvas, colour] as const,
  );
}
