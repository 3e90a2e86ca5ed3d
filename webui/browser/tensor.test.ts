// All views of one tensor, on the fixture server.

import { beforeEach, describe, expect, it } from 'vitest';
import { browser, button, fixture, type Options, page, pixelsOf, start } from './harness';

async function begin(options: Options = {}) {
  await start([], options);
  await toHit();
}

const tab = (name: string) => page.getByRole('tab', { name });

// Pauses at forward/log in step 3, whose output has infinities.
async function toHit(): Promise<void> {
  await page.goto(`${fixture.address}#/jobs/digits-1`);
  await button('Add watchpoint').first().click();
  await button('Add').click();
  await page.getByRole('switch').waitFor();
  await button('Continue').click();
  await page.getByRole('grid', { name: 'Values of forward/log:0' }).waitFor();
}

describe('a tensor', () => {
  beforeEach(() => begin());

  it('is seen as a heat map, with infinities in a colour of their own', async () => {
    await tab('Heat map').click();
    const canvas = page.getByRole('img', { name: /^64 by 10 values/ });
    await canvas.waitFor();
    expect(await canvas.getAttribute('aria-label')).toMatch(/\d+ -Inf/);
    expect(await pixelsOf('64 by 10 values', '--neg-inf-bg')).toBeGreaterThan(20);
    expect(await pixelsOf('64 by 10 values', '--nan-bg')).toBe(0);
    expect(page.url()).toContain('panel=heat');
    // The first infinity is selected; goes to the next by keyboard.
    const frame = page.getByRole('group', { name: 'Heat map of forward/log:0' });
    await page.getByText('[0, 6] = -Infinity').waitFor();
    await frame.focus();
    await page.keyboard.press('ArrowDown');
    await page.getByText('[1, 6] =').waitFor();
    await page.getByRole('button', { name: /^Next NaN/ }).click();
    await page.getByText('= -Infinity').waitFor();
    await page.reload();
    await canvas.waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('heat-dark');
  });

  it('has a histogram with what is not finite beside it', async () => {
    await tab('Histogram').click();
    const bars = page.getByRole('group', { name: 'Histogram' });
    await bars.getByText('▼ -Inf').waitFor({ state: 'attached' });
    await bars.focus();
    await page.keyboard.press('End');
    await page.getByText(/^-Inf: \d+ elements$/).waitFor();
    await page.getByLabel('log counts').check();
    await page.getByLabel('Bins').selectOption('128 bins');
    await page.getByText(/finite elements, \d+ not finite/).waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('histogram-dark');
  });

  it('has a history with its hits marked', async () => {
    await tab('History').click();
    const plot = page.getByRole('group', { name: 'History of forward/log:0' });
    await plot.getByText(/^Hit at step 3/).waitFor({ state: 'attached' });
    await plot.focus();
    await page.keyboard.press('Home');
    await page.getByText(/^step 1: {2}?mean|^step 1: mean/).waitFor();
    await page.getByRole('checkbox', { name: 'std' }).check();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('history-dark');
  });

  it('is compared with itself a step before, by keys alone', async () => {
    await tab('Values').focus();
    for (let i = 0; i < 4; i += 1) await page.keyboard.press('ArrowRight');
    const figures = page.getByLabel('Comparison');
    await figures.getByText(/of 640 not close/).waitFor();
    const grids = page.getByRole('grid');
    expect(await grids.count()).toBe(3);
    await page.getByRole('region', { name: 'difference' }).waitFor();
    // Goes to the first difference in all three grids.
    await figures.getByRole('button').focus();
    await page.keyboard.press('Enter');
    await page.getByText(/→/).first().waitFor();
    await page.getByLabel('rtol').fill('1e9');
    await page.keyboard.press('Enter');
    await page.getByLabel('atol').fill('1e9');
    await page.keyboard.press('Enter');
    await figures.getByText(/of 640 not close/).waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('compare-dark');
    await page.getByLabel('Show', { exact: true }).selectOption('heat maps');
    await page.getByRole('img', { name: /^difference: 64 by 10/ }).waitFor();
    await page.getByLabel('Show', { exact: true }).selectOption('ULP map');
    await page.getByRole('region', { name: 'ULP map' }).getByRole('img', { name: /^ULP map: 64 by 10 values/ }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('compare-ulps-dark');
    await page.getByLabel('Show', { exact: true }).selectOption('first differences');
    const differences = page.getByRole('table', { name: 'first differences' });
    await differences.getByText(/^The first 100 of \d+ elements outside the tolerance$|^All \d+ elements outside/).waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('compare-elements-dark');
    const element = differences.getByRole('button').nth(1);
    const place = await element.textContent();
    await element.focus();
    await page.keyboard.press('Enter');
    await page.getByText(`${place}:`).waitFor();
    await page.getByLabel('Show', { exact: true }).selectOption('histograms');
    await page.getByRole('img', { name: /^Histograms of both sides: from/ }).waitFor();
    await page.getByRole('img', { name: /^Histogram of the difference: from/ }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('compare-histograms-dark');
    await page.getByLabel('Compare with').selectOption('another tensor');
    const tensor = page.getByLabel('Tensor to compare with');
    // Parts of the name suffice.
    await tensor.fill('forward neg');
    await page.getByRole('option', { name: 'forward/neg:0' }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await tensor.fill('forward/neg:0');
    await page.keyboard.press('Enter');
    await page.getByText(/Shapes differ|Nothing to compare/).first().waitFor();
    expect(page.url()).toContain('with=tensor:forward/neg:0');
  });

  it('of more than two axes is walked by sliders', async () => {
    await page.goto(`${fixture.address}#/jobs/digits-1?node=forward/stem/weight`);
    await page.getByLabel('Index on axis 0').fill('5');
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes('slice=[5, 0, :, :]'));
    await page.getByLabel('rows').selectOption('axis 0 · 16');
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes('slice=[:, 0, 0, :]'));
    await page.getByText('[0, 0, 0, 0] =').waitFor();
    // In the other order, rows and columns are swapped.
    await page.getByLabel('columns').selectOption('axis 0 · 16');
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes('slice=[:, 0, 0, :].T'));
    await page.getByRole('grid').focus();
    await page.keyboard.press('ArrowRight');
    await page.getByText('[1, 0, 0, 0] =').waitFor();
    await button('Transpose').click();
    await page.waitForFunction(() => !location.hash.includes('.T'));
    expect(await browser.axe()).toEqual([]);
  });

  it('can be taken along as a file', async () => {
    await button('Copy or download').click();
    const file = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'Download tensor as .npy' }).click();
    expect((await file).suggestedFilename()).toBe('forward_log_0.npy');
  });
});

describe('a node', () => {
  beforeEach(() => begin());

  it('has a menu by right click, and is continued to from there', async () => {
    await page.getByRole('switch').uncheck();
    await page.getByRole('treeitem', { name: 'neg' }).first().click({ button: 'right' });
    await page.getByRole('menu', { name: 'forward/neg' }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await page.getByRole('menuitem', { name: 'Continue to here' }).click();
    await page.getByTestId('current-node').getByText('forward/neg').waitFor();
  });
});
