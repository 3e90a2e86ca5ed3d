// The palette, the shortcuts, and the source of a node, on the fixture server.

import { beforeEach, describe, expect, it } from 'vitest';
import { browser, button, fixture, page, start } from './harness';

const open = (rest = '') => page.goto(`${fixture.address}#/jobs/digits-1${rest}`);
const ready = () => button('Continue').waitFor();

describe('by keys', () => {
  beforeEach(() => start());

  it('the palette runs commands and finds nodes', async () => {
    await open();
    await ready();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command or node' }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('palette-dark');
    await page.keyboard.type('softmax');
    await page.getByRole('option', { name: /forward\/_softmax/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /softmax/ }).waitFor();
    await page.keyboard.press('Control+Shift+P');
    await page.keyboard.type('histog');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => location.hash.includes('panel=histogram'));
    await page.keyboard.press('Control+k');
    await page.keyboard.type('pause');
    await page.getByRole('option', { name: /already paused/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('? lists all keys', async () => {
    await open();
    await ready();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Next or previous incident or hit').waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('keys-dark');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});

describe('the source of a node', () => {
  beforeEach(() => start());

  it('is a line with all nodes that it made, and the lines that led there', async () => {
    await open('?node=forward/blocks/0/add');
    const source = page.getByRole('region', { name: 'Source' });
    await source.getByText('6 ops from this line').waitFor();
    await source.getByRole('button', { name: 'forward/blocks/1/add', exact: true }).click();
    await page.getByRole('heading', { name: 'forward/blocks/1/add' }).waitFor();
    await source.getByText('show 1 library frame').click();
    await source.getByText('module.py:1779').waitFor();
    await source.getByRole('button', { name: /digits_cnn.py:70/ }).click();
    await source.getByText('0 ops from this line').waitFor();
    expect(await browser.axe()).toEqual([]);
  });
});

describe('several ranks', () => {
  beforeEach(() => start(['--ranks', '4']));

  it('are a matrix; one is looked at, another compared with', async () => {
    await open('?node=forward/stem/weight');
    await ready();
    await page.getByRole('button', { name: 'Step', exact: true }).click();
    await page.getByTestId('step').getByText('1', { exact: true }).waitFor();
    const ranks = page.getByRole('button', { name: /^Rank 0 of 4/ });
    await ranks.click();
    await page.getByRole('button', { name: 'Rank 2, paused, step 1' }).click();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('ranks-dark');
    await page.getByRole('button', { name: 'Switch to rank 2' }).click();
    await page.getByRole('button', { name: /^Rank 2 of 4/ }).click();
    expect(page.url()).toContain('rank=2');
    await page.getByRole('button', { name: 'Rank 3, paused, step 1' }).click();
    await page.getByRole('button', { name: 'Compare with rank 3' }).click();
    await page.getByRole('region', { name: 'rank 3, step 1' }).waitFor();
    await page.getByLabel('Comparison').getByText(/not close/).waitFor();
    // The address alone restores the view.
    await page.reload();
    await page.getByRole('region', { name: 'rank 2, step 1' }).waitFor();
  });

  it('differ at a glance, and are moved one by one', async () => {
    await open('?node=forward/stem/weight');
    await ready();
    await page.getByRole('button', { name: 'Step', exact: true }).click();
    const strip = page.getByRole('group', { name: 'weight:0 on the ranks' });
    await strip.getByText(/on 4 ranks|on all 4 ranks|differ/).waitFor();
    await page.getByRole('tab', { name: 'Ranks' }).click();
    const table = page.getByRole('region', { name: 'Statistics of forward/stem/weight:0 by rank' });
    await table.getByRole('button', { name: '3', exact: true }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('rank-differences-dark');
    await table.getByRole('button', { name: '3', exact: true }).click();
    expect(page.url()).toContain('rank=3');
    const next = page.getByRole('button', { name: 'Next node', exact: true });
    expect(await next.textContent()).toContain('rank 3');
    await page.getByRole('button', { name: 'Rank of Next node' }).click();
    expect(await browser.axe()).toEqual([]);
    await page.getByRole('menuitemradio', { name: /^Rank 1/ }).click();
    expect(await next.textContent()).toContain('rank 1');
    expect(page.url()).toContain('rank=3');
  });
});

describe('1,024 ranks', () => {
  beforeEach(() => start(['--ranks', '1024']));

  it('are a grid, coloured by state or a value, and looked at by keys', async () => {
    await open('?node=forward/stem/weight');
    await ready();
    await page.getByRole('button', { name: 'Step', exact: true }).click();
    await page.getByTestId('step').getByText('1', { exact: true }).waitFor();
    await page.getByRole('button', { name: /^Rank 0 of 1024/ }).click();
    const grid = page.getByRole('slider', { name: /^1024 ranks/ });
    await grid.waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('rank-grid-dark');
    await page.getByLabel('Colour ranks by').selectOption('L2 norm of the selected node');
    await page.getByRole('dialog', { name: 'Ranks' }).getByText(/^\S+ to \S+$/).waitFor();
    await browser.shot('rank-grid-norm-dark');
    await grid.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    await page.getByText('Rank 33, paused, step 1').first().waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Rank 33 of 1024/ }).waitFor();
    expect(page.url()).toContain('rank=33');
  });
});
