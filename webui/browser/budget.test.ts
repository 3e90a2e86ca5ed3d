// The files of the first view must stay small. Panels that are not shown at first are
// loaded when they are opened, and do not count.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

const DIST = join(import.meta.dirname, '../dist');
const BUDGET_KB = 220;

const read = (name: string) => readFileSync(join(DIST, 'assets', name));

// The scripts that a script needs: its static imports and the worker.
function neededBy(script: string): string[] {
  const text = read(script).toString();
  const imports = text.matchAll(/(?:\bfrom|\bimport)\s*["']\.\/([\w.-]+\.js)["']/g);
  const workers = text.matchAll(/([\w.-]+\.worker-[\w-]+\.js)/g);
  return [...imports, ...workers].map((match) => match[1] ?? '');
}

const filesIn = (text: string) => [...text.matchAll(/assets\/([\w.-]+\.(?:js|css))/g)].map((match) => match[1] ?? '');

// The files named by index.html and those that its first script loads.
function firstView(): Set<string> {
  const first = filesIn(readFileSync(join(DIST, 'index.html'), 'utf8'));
  const boot = first.filter((name) => name.startsWith('boot-'));
  const wanted = [...first, ...boot.flatMap((name) => filesIn(read(name).toString()))];
  const found = new Set<string>();
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    if (name.endsWith('.js')) wanted.push(...neededBy(name));
  }
  return found;
}

it(`loads at most ${BUDGET_KB} KB of scripts and styles`, () => {
  const files = [...firstView()];
  const kinds = ['boot', 'page', 'worker', '.css'].filter((kind) => files.some((name) => name.includes(kind)));
  expect(kinds).toEqual(['boot', 'page', 'worker', '.css']);
  const kilobytes = files.reduce((sum, name) => sum + gzipSync(read(name)).length, 0) / 1024;
  expect(kilobytes).toBeLessThan(BUDGET_KB);
});
