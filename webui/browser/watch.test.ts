// Watchpoints and hits, on the fixture server.

import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { browser, button, fixture, page, start } from './harness';

async function begin(flags: string[] = []) {
  await start(flags);
  await page.goto(`${fixture.address}#/jobs/digits-1`);
  await button('Continue').waitFor();
}

async function ticked(item: Locator, state: string): Promise<void> {
  await expect.poll(() => item.getAttribute('aria-checked')).toBe(state);
}

const switches = () => page.getByRole('switch');

describe('watchpoints', () => {
  it('are made by one click, changed, copied, deleted and brought back', async () => {
    await begin();
    await button('Add recommended set').click();
    await page.getByRole('switch', { name: 'Watchpoint 1: Has NaN on all gradients' }).waitFor();
    expect(await switches().count()).toBe(2);
    expect(await button('Add recommended set').count()).toBe(0);

    await button('Edit watchpoint 1').click();
    const form = page.getByRole('form');
    await form.getByLabel('When').selectOption('abs_max_gt');
    await form.getByLabel('value').fill('3');
    await form.getByText('34 nodes').waitFor();
    await form.getByLabel('On', { exact: true }).selectOption('everything');
    await form.getByText('65 nodes').waitFor();
    expect(await browser.axe()).toEqual([]);
    await button('Save').click();
    await page.getByRole('switch', { name: 'Watchpoint 1: abs_max > 3 on everything' }).waitFor();

    await button('Copy watchpoint 1').click();
    await form.getByLabel('value').fill('5');
    await button('Add').click();
    await page.getByRole('switch', { name: 'Watchpoint 3: abs_max > 5 on everything' }).waitFor();

    await button('Delete watchpoint 3').click();
    await page.getByRole('switch', { name: /^Watchpoint 3/ }).waitFor({ state: 'detached' });
    // The toast of the recommended set is still shown.
    await button('Undo').last().click();
    await page.getByRole('switch', { name: 'Watchpoint 4: abs_max > 5 on everything' }).waitFor();
  });

  it('are put on what is ticked in the tree', async () => {
    await begin();
    const backward = page.getByRole('treeitem', { name: 'backward', exact: true });
    const forward = page.getByRole('treeitem', { name: 'forward', exact: true });
    expect(await backward.getAttribute('aria-checked')).toBeNull();
    await button('Add watchpoint').first().click();
    const form = page.getByRole('form');
    await form.getByText('65 nodes').waitFor();
    await ticked(backward, 'true');
    // The tree shows what the form describes, and the other way round.
    await form.getByLabel('On', { exact: true }).selectOption('all gradients');
    await ticked(forward, 'false');
    await ticked(backward, 'true');
    await form.getByLabel('On', { exact: true }).selectOption('nodes matching a pattern');
    await form.getByLabel('Pattern').fill('forward/l*');
    await ticked(forward, 'mixed');
    await ticked(backward, 'false');
    await browser.shot('ticks-of-words');
    await backward.locator('.tree-tick').click();
    expect(await form.getByLabel('On', { exact: true }).inputValue()).toBe('ticked');
    await ticked(forward, 'mixed');
    await forward.locator('.tree-tick').click();
    await ticked(forward, 'true');
    await forward.locator('.tree-tick').click();
    await form.getByText('34 nodes').waitFor();
    expect(await form.getByLabel('On', { exact: true }).inputValue()).toBe('ticked');
    expect(await backward.getAttribute('aria-checked')).toBe('true');
    expect(await browser.axe()).toEqual([]);
    await browser.shot('ticks');
    await button('Add').click();
    await page.getByRole('switch', { name: 'Watchpoint 1: Has NaN or infinity on backward/' }).waitFor();
    expect(await backward.getAttribute('aria-checked')).toBeNull();
  });
});

describe('hits', () => {
  it('are grouped by step and filtered, and a click goes to the node', async () => {
    await begin();
    await button('Add watchpoint').first().click();
    await page.getByLabel('Then').selectOption('log without pausing');
    await button('Add').click();
    await page.getByLabel('Number of steps').fill('4');
    await button('Step').click();
    await page.getByTestId('step').getByText('4', { exact: true }).waitFor();
    const list = page.getByRole('listbox', { name: 'Hits' });
    await list.getByText('Step 4').first().waitFor();
    await page.getByLabel('Filter by step').fill('3');
    await page.getByRole('checkbox', { name: 'origins only' }).check();
    const row = page.getByRole('option', { name: /forward\/log/ });
    await row.waitFor();
    expect(await list.getByRole('option').count()).toBe(1);
    await row.click();
    await page.getByRole('heading', { name: 'forward/log' }).waitFor();
    expect(await row.getAttribute('aria-selected')).toBe('true');
    expect(await browser.axe()).toEqual([]);
    await page.getByLabel('Filter by step').fill('99');
    await page.getByText('No hits match the filter').waitFor();
    await button('Show all hits').click();
    await list.getByText('Step 4').first().waitFor();
  });

  it('may come by the thousand; only those in view are in the document', async () => {
    await begin(['--burst', '10000']);
    await button('Add watchpoint').first().click();
    await button('Add').click();
    await button('Continue').click();
    await page.getByRole('tab', { name: 'Hits 10k' }).waitFor({ timeout: 40_000 });
    await page.getByRole('listbox', { name: 'Hits' }).getByRole('option').first().waitFor();
    expect(await page.getByRole('option').count()).toBeLessThan(60);
  });

  it('that are not there are told of', async () => {
    await begin(['--burst', '1500', '--dropped', '1234']);
    await button('Add watchpoint').first().click();
    await page.getByLabel('Then').selectOption('log without pausing');
    await button('Add').click();
    await button('Step').click();
    const note = page.getByRole('note', { name: 'Hits that are not shown' });
    await note.getByText(/of 2,73\d hits; 1,234 lost/).waitFor();
    await page.reload();
    await note.getByText(/^Newest 1,000 of 2,73\d/).waitFor();
    expect(await browser.axe()).toEqual([]);
    await button('Load all').click();
    await note.getByText(/^1,5\d\d of 2,73\d/).waitFor();
  });
});

describe('the log', () => {
  it('says what happened', async () => {
    await begin();
    await button('Step').click();
    await page.getByText('Paused after a step').first().waitFor();
    await page.getByRole('tab', { name: 'Log' }).click();
    const log = page.getByRole('list', { name: 'Log' });
    await log.getByText('Step · this page').waitFor();
    await log.getByText('Paused after a step, step 1').waitFor();
    await button('Add watchpoint').first().click();
    await button('Add').click();
    await button('Continue').click();
    await log.getByText('Paused by a watchpoint, step 3: 1 Has NaN or infinity').waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('log');
    // A click goes to the node or the watchpoint of the entry.
    await log.getByRole('button', { name: 'Watchpoint 1 set: Has NaN or infinity on everything' }).click();
    expect(await page.getByRole('switch').evaluate((own) => own === document.activeElement)).toBe(true);
    await log.getByRole('button', { name: 'forward/log' }).click();
    await page.getByRole('heading', { name: 'forward/log' }).waitFor();
    await page.getByLabel('Filter log').selectOption('watchpoints');
    expect(await log.getByRole('listitem').count()).toBe(1);
    await page.getByLabel('Filter log').selectOption('ranks');
    await page.getByText('No matching entries').waitFor();
  });
});
