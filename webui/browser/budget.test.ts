// What a first visit loads must stay small.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

const ASSETS = join(import.meta.dirname, '../dist/assets');
const BUDGET_KB = 200;

it(`loads at most ${BUDGET_KB} KB of scripts and styles`, () => {
  const files = readdirSync(ASSETS).filter((name) => /\.(js|css)$/.test(name));
  const bytes = files.map((name) => gzipSync(readFileSync(join(ASSETS, name))).length);
  const kilobytes = bytes.reduce((sum, size) => sum + size, 0) / 1024;
  expect(files.length).toBeGreaterThan(1);
  expect(kilobytes).toBeLessThan(BUDGET_KB);
});
