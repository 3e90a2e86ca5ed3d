// The overview of modules over steps: by pointer, by keys and as a table, live and recorded.

import { describe, expect, it } from 'vitest';
import { browser, button, fixture, page, pixelsOf, start } from './harness';

const map = () => page.getByRole('group', { name: 'Modules over steps' });
const picture = () => map().getByRole('img');
const tab = (name: string) => page.getByRole('tab', { name, exact: true });
const address = () => page.evaluate(() => window.location.hash);
const said = () => page.getByRole('status').filter({ hasText: /step/ });
const LABEL = 'mean |x| of results';

async function openRun(query = 'overview=activation'): Promise<void> {
  await page.goto(`${fixture.address}#/runs/nightly?${query}`);
  await picture().waitFor();
}

describe('the overview of a recorded run', () => {
  it('shows where values are not finite, in red, and says so', async () => {
    await start(['--runs']);
    await openRun();
    const label = 'mean |x| of results: 14 modules in 17 rows over 40 steps. NaN or infinity first in (no module) at step 12; in 2 rows.';
    await expect.poll(() => picture().getAttribute('aria-label')).toBe(label);
    // Two cells of two modules, less their signs.
    await expect.poll(() => pixelsOf(LABEL, '--hit')).toBeGreaterThan(200);
    await page.getByRole('img', { name: /^Loss: from [\d.]+ to [\d.]+, not finite in 2 steps$/ }).waitFor();
    await page.getByText(/steps 1 to 40 · measured in 0\.\d+ % of the time/).waitFor();
    await browser.shot('overview-run-dark');
    expect(await browser.axe()).toEqual([]);
  });

  it('is walked by keys, and leads to the module and the step', async () => {
    await start(['--runs'], { scheme: 'light' });
    await openRun();
    await map().focus();
    await page.keyboard.press('End');
    await expect.poll(() => said().textContent()).toMatch(/^\(no module\), step 40: [\d.]+$/);
    for (const key of ['ArrowDown', 'ArrowLeft', 'ArrowLeft']) await page.keyboard.press(key);
    await expect.poll(() => said().textContent()).toMatch(/^stem, step 38: [\d.]+$/);
    await page.keyboard.press('Shift+ArrowLeft');
    await expect.poll(() => said().textContent()).toMatch(/^stem, step 28/);
    await page.keyboard.press('d');
    await page.getByRole('img', { name: 'Distribution of stem' }).waitFor();
    await page.getByRole('img', { name: /^Gradient, last / }).waitFor();
    await browser.shot('overview-distribution-light');
    expect(await browser.axe()).toEqual([]);
    await page.keyboard.press('Enter');
    await expect.poll(address).toContain('node=forward/stem');
    expect(await address()).toContain('step=28');
    // The same from the address alone.
    await page.reload();
    await picture().waitFor();
    expect(await page.getByRole('slider', { name: 'Step' }).getAttribute('aria-valuetext')).toBe('step 28 of 40');
  });

  it('folds groups by key and by click', async () => {
    await start(['--runs']);
    await openRun('overview=gradient');
    const rows = async () => Number(/in (\d+) rows/.exec((await picture().getAttribute('aria-label')) ?? '')?.[1]);
    await expect.poll(rows).toBe(17);
    await button('Close all groups').click();
    await expect.poll(rows).toBe(5);
    await map().focus();
    for (const key of ['Home', 'ArrowDown', 'ArrowDown', ' ']) await page.keyboard.press(key);
    await expect.poll(rows).toBe(7);
    // The cursor stays on the group.
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => said().textContent()).toMatch(/^blocks, step 2: /);
    // The label of the first block.
    await map().click({ position: { x: 30, y: 16 * 3 + 8 } });
    await expect.poll(rows).toBe(12);
  });

  it('follows a click on a cell, and shows its value under the pointer', async () => {
    await start(['--runs']);
    await openRun();
    const box = await map().boundingBox();
    await map().hover({ position: { x: (box?.width ?? 0) - 40, y: 24 } });
    const tip = page.locator('.overview-tip');
    await tip.getByText('stem', { exact: true }).waitFor();
    await tip.getByText(/^step \d+ · training/).waitFor();
    expect(await tip.locator('path').getAttribute('d')).toMatch(/^M0\.5/);
    await map().click({ position: { x: (box?.width ?? 0) - 40, y: 24 } });
    await expect.poll(address).toMatch(/step=3\d/);
    expect(await address()).toContain('node=forward/stem');
  });

  it('has its rows as a table', async () => {
    await start(['--runs'], { scheme: 'light' });
    await openRun('overview=non_finite');
    await button('Show as table').click();
    const row = page.getByRole('row', { name: /^\(no module\)/ });
    await row.getByRole('cell', { name: '3', exact: true }).waitFor();
    expect(await row.getByRole('cell').last().textContent()).toBe('2');
    expect(await browser.axe()).toEqual([]);
  });

  it('zooms to the steps that are dragged over, and shows their time', async () => {
    await start(['--runs']);
    await openRun();
    await tab('Time').click();
    await page.getByRole('img', { name: /^Time of each step, at most/ }).waitFor();
    expect(await address()).toContain('overview=time');
    // Recordings have no times of ops.
    expect(await page.getByRole('group', { name: 'Ops over time' }).count()).toBe(0);
    expect(await map().count()).toBe(0);
    expect(await browser.axe()).toEqual([]);
    const loss = await page.locator('.overview-loss').boundingBox();
    if (loss === null) throw new Error('the loss is shown');
    await page.mouse.move(loss.x + loss.width - 200, loss.y + 20);
    await page.mouse.down();
    await page.mouse.move(loss.x + loss.width - 60, loss.y + 20, { steps: 4 });
    await page.mouse.up();
    await button('Show all steps').click();
    expect(await button('Show all steps').getAttribute('aria-disabled')).toBe('true');
  });
});

describe('the overview of a job', () => {
  it('appears with the first step and grows, beside the graph', async () => {
    await start();
    await page.goto(`${fixture.address}#/jobs/digits-1`);
    await page.getByRole('img', { name: /^Graph:/ }).waitFor();
    await page.keyboard.press('o');
    await page.getByText('The overview begins with the first step.').waitFor();
    await button('Continue').click();
    await expect.poll(() => page.getByText(/^steps 1 to \d+ · measured/).textContent()).toMatch(/^steps 1 to \d{2}/);
    await page.keyboard.press('o');
    await page.getByRole('img', { name: /^Graph:/ }).waitFor();
    expect(await address()).not.toContain('overview');
  });

  it('draws 500 modules over 1,000 steps, however small the cells are', async () => {
    await start(['--overview', 'large']);
    await page.goto(`${fixture.address}#/jobs/digits-1?overview=activation`);
    await button('Open all groups').click();
    await button('Fit rows to view').click();
    await expect.poll(() => picture().getAttribute('aria-label')).toMatch(/^mean \|x\| of results: 500 modules in 551 rows over 1,000 steps/);
    // The red row of the outermost group, and then the single cells in its last layers.
    const before = await pixelsOf(LABEL, '--hit');
    expect(before).toBeGreaterThan(100);
    await map().hover();
    await page.mouse.wheel(0, 2000);
    await expect.poll(() => pixelsOf(LABEL, '--hit')).toBeGreaterThan(10 * before);
    await browser.shot('overview-large-dark');
  });

  const ops = () => page.getByRole('group', { name: 'Ops over time' });

  it('has the time of modules, and the ops of a step with the slowest', async () => {
    await start([], { scheme: 'light' });
    await page.goto(`${fixture.address}#/jobs/warmup-7?overview=time`);
    await page.getByRole('img', { name: /^Time of each step, at most/ }).waitFor();
    await page.getByRole('img', { name: /^time in the calls of ops, forward and backward: 14 modules/ }).waitFor();
    const label = /^Ops of step 200: \d+ ops on 2 threads in [\d.]+ ms\. Slowest: forward\/(\S+), [\d.]+ ms, [\d.]+ % of the step\.$/;
    await expect.poll(() => ops().getByRole('img').getAttribute('aria-label')).toMatch(label);
    const slowest = label.exec((await ops().getByRole('img').getAttribute('aria-label')) ?? '')?.[1];
    await page.getByText('Time of the call; kernels on a GPU run later.').waitFor();
    const rows = page.getByRole('table', { name: 'Slowest ops' }).getByRole('row');
    expect(await rows.count()).toBe(11);
    expect(await rows.nth(1).textContent()).toContain(`forward/${slowest}`);
    await browser.shot('overview-ops-light');
    expect(await browser.axe()).toEqual([]);
    await rows.nth(1).getByRole('button').click();
    await expect.poll(address).toContain(`node=forward/${slowest}`);
  });

  it('shows the ops of the step that is chosen, by key and by pointer', async () => {
    await start();
    await page.goto(`${fixture.address}#/jobs/warmup-7?overview=time`);
    await ops().getByRole('img', { name: /^Ops of step 200:/ }).waitFor();
    // The newest step stays once it is looked at closely.
    await ops().focus();
    await page.keyboard.press('End');
    await page.keyboard.press('+');
    const choice = page.getByRole('combobox', { name: 'Step whose ops are shown' });
    await expect.poll(() => choice.inputValue()).toBe('200');
    await choice.selectOption('step 190');
    await ops().getByRole('img', { name: /^Ops of step 190:/ }).waitFor();
    // A cell of the picture leads to its step, too.
    await map().focus();
    for (const key of ['End', 'ArrowLeft']) await page.keyboard.press(key);
    await ops().getByRole('img', { name: /^Ops of step 199:/ }).waitFor();
    await ops().focus();
    const spoken = page.getByRole('status').filter({ hasText: /% of the step/ });
    for (const key of ['Home', 'ArrowRight']) await page.keyboard.press(key);
    await expect.poll(() => spoken.textContent()).toMatch(/^forward\/\S+: [\d.]+ (µs|ms), [\d.]+ % of the step$/);
    const node = (await spoken.textContent())?.split(':')[0];
    await page.keyboard.press('Enter');
    await expect.poll(address).toContain(`node=${node}`);
    await page.keyboard.press('+');
    expect(await button('Show the whole step').getAttribute('aria-disabled')).not.toBe('true');
    await page.keyboard.press('0');
    expect(await button('Show the whole step').getAttribute('aria-disabled')).toBe('true');
    const box = await ops().boundingBox();
    await ops().hover({ position: { x: (box?.width ?? 0) / 2, y: 26 } });
    await page.locator('.op-timeline-frame .overview-tip').getByText(/ · thread 0$/).waitFor();
  });

  it('draws 10,000 ops, and says how many more there are', async () => {
    await start(['--overview', 'large']);
    await page.goto(`${fixture.address}#/jobs/digits-1?overview=time`);
    await ops().getByRole('img', { name: /^Ops of step 1,000: 10,000 ops on 2 threads/ }).waitFor();
    await page.getByText(/1,234 more ops are left out/).waitFor();
    await expect.poll(() => pixelsOf('Ops of step 1,000', '--cat-gradient')).toBeGreaterThan(500);
    await ops().hover();
    await page.mouse.wheel(0, -3000);
    await expect.poll(() => button('Show the whole step').getAttribute('aria-disabled')).not.toBe('true');
    await browser.shot('overview-ops-large-dark');
  });

  it('says why there is none', async () => {
    await start(['--overview', 'off']);
    await page.goto(`${fixture.address}#/jobs/warmup-7?overview=activation`);
    await page.getByText(/GRAPHDBG_OVERVIEW=0 or --no-overview/).waitFor();
  });

  it('says that an older server has none', async () => {
    await start(['--overview', 'none']);
    await page.goto(`${fixture.address}#/jobs/warmup-7?overview=activation`);
    await page.getByText('This server has no overview: it is too old.').waitFor();
  });
});
