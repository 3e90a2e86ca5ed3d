// The guide: its pages are readable, its links lead somewhere, and its pictures exist.

import { expect, it } from 'vitest';
import { guidePages as listedPages } from '../guide/render.ts';
import { guidePages, pageAddress } from '../src/words/guide';
import { browser, button, fixture, page, start } from './harness';

const PAGES = ['/guide/index.html', ...guidePages.map(([name]) => pageAddress(name))];

it.each(['light', 'dark'] as const)('is readable in the %s scheme', { timeout: 120_000 }, async (scheme) => {
  await start([], { scheme, width: 1280, height: 720 });
  const links = new Set<string>();
  for (const address of PAGES) {
    await page.goto(fixture.address + address.slice(1));
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await browser.axe(), address).toEqual([]);
    await browser.shot(`guide-${scheme}-${address.replaceAll(/\W/g, '-')}`);
    const found = await page.evaluate(() => {
      for (const image of document.images) image.loading = 'eager';
      return [...document.links].map((link) => link.href);
    });
    await page.waitForFunction(() => [...document.images].every((image) => image.complete));
    const broken = await page.evaluate(() => [...document.images].filter((image) => image.naturalWidth === 0).map((image) => image.src));
    expect(broken, address).toEqual([]);
    found.forEach((link) => links.add(link));
  }
  for (const link of links) {
    const [file = '', anchor] = link.split('#');
    const answer = await page.request.get(file);
    expect(answer.ok(), link).toBe(true);
    if (anchor !== undefined) expect(await answer.text(), link).toContain(`id="${anchor}"`);
  }
});

it('has the pages that the page links to', async () => {
  await start();
  expect(guidePages.map(([name]) => name)).toEqual(listedPages());
  await page.goto(`${fixture.address}#/jobs/digits-1`);
  await button('Continue').waitFor();
  await page.keyboard.press('?');
  const link = page.getByRole('dialog').getByRole('link', { name: 'Watchpoints' });
  const opened = page.context().waitForEvent('page');
  await link.click();
  const tab = await opened;
  await tab.getByRole('heading', { level: 1, name: 'Watchpoints' }).waitFor();
  for (const [name, title] of guidePages) {
    await tab.goto(fixture.address + pageAddress(name).slice(1));
    expect(await tab.getByRole('heading', { level: 1 }).textContent()).toBe(title);
  }
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Guide: Your first stop' }).waitFor();
});
