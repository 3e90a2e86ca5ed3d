// A recorded run: its place in the list, the slider, values, comparison and checks.

import { beforeEach, expect, it } from 'vitest';
import { browser, button, fixture, page, start, treeItem } from './harness';

const slider = () => page.getByRole('slider', { name: 'Step' });
const stepNow = () => slider().getAttribute('aria-valuetext');
const address = () => page.evaluate(() => window.location.hash);

async function openTensor(query: string): Promise<void> {
  await page.goto(`${fixture.address}#/runs/nightly?node=forward/log&${query}`);
  await expect.poll(stepNow).toMatch(/of 40$/);
}

beforeEach(() => start(['--runs']));

it('is in the list of the start page and opens at its last step', async () => {
  await page.goto(`${fixture.address}#/`);
  const row = page.getByRole('table', { name: 'Recorded runs' }).getByRole('row', { name: /nightly/ });
  await row.getByText('1 damaged file').waitFor();
  await row.getByRole('link', { name: 'nightly' }).click();
  await page.getByRole('tree').waitFor();
  await expect.poll(stepNow).toBe('step 40 of 40');
  await page.getByRole('img', { name: 'Curve of forward/log:0' }).waitFor();
  expect(browser.errors).toEqual([]);
});

it('steps forward and back with the keys and to its hits, and keeps the step in the address', async () => {
  await openTensor('step=24');
  await slider().focus();
  await page.keyboard.press('ArrowLeft');
  expect(await address()).toContain('step=23');
  await button('Next hit').click();
  expect(await stepNow()).toBe('step 25 of 40');
  await button('Previous hit').click();
  expect(await stepNow()).toBe('step 12 of 40');
  await button('Next step').click();
  expect(await address()).toContain('step=13');
  await page.reload();
  await expect.poll(stepNow).toBe('step 13 of 40');
});

it('marks the steps in which a user has changed the program, and goes there', async () => {
  await openTensor('step=24');
  expect(await page.locator('.run-change').count()).toBe(1);
  const change = page.getByRole('list', { name: 'Changes by users' }).getByRole('listitem');
  expect(await change.textContent()).toContain('learning rate 0.01 -> 0by alice');
  await change.getByRole('button', { name: 'changed in step 18' }).click();
  expect(await stepNow()).toBe('step 18 of 40');
});

it('stays at its step when another node is selected', async () => {
  await openTensor('step=12');
  await treeItem('stem').first().click();
  expect(await address()).toContain('node=forward/stem');
  expect(await address()).toContain('step=12');
  expect(await stepNow()).toBe('step 12 of 40');
});

it('plays until the last step', async () => {
  await openTensor('step=38');
  await button('Play').click();
  await expect.poll(stepNow).toBe('step 40 of 40');
  await button('Play').waitFor();
});

it('shows saved values, and names the nearest steps where there are none', async () => {
  await openTensor('step=17');
  await page.getByText('Values not recorded').waitFor();
  await button('Go to step 20').click();
  await page.getByRole('grid', { name: 'Values of forward/log:0' }).waitFor();
  expect(await stepNow()).toBe('step 20 of 40');
});

it('compares any two steps whose values were saved', async () => {
  await openTensor('step=30&panel=compare&with=step:10');
  await page.getByLabel('Comparison').getByText(/not close/).waitFor();
  await page.getByRole('grid').nth(1).waitFor();
  expect(await page.getByLabel('Compare with', { exact: true }).inputValue()).toBe('step');
  expect(browser.errors).toEqual([]);
});

it('finds where a condition matches, and goes there', async () => {
  await openTensor('step=5');
  await button('Check a condition').first().click();
  const form = page.getByRole('form', { name: 'New check' });
  await form.getByLabel('When').selectOption('inf');
  await form.getByLabel('On', { exact: true }).selectOption('everything');
  await form.getByRole('button', { name: 'Check' }).click();
  await page.getByText('2 hits').first().waitFor();
  await page.getByRole('button', { name: /step 12/ }).first().click();
  expect(await stepNow()).toBe('step 12 of 40');
  // The step at which only the check has a hit.
  expect(await page.locator('.run-hit').count()).toBe(3);
  await button('Next hit').click();
  await button('Next hit').click();
  expect(await stepNow()).toBe('step 33 of 40');
});

it('shows both graphs of a divergence side by side, and moves them together', async () => {
  await openTensor('step=25&compare=baseline:0');
  await button('Show both graphs').click();
  expect(await address()).toContain('beside=1');
  const side = (name: string) => page.getByRole('region', { name });
  const [here, there] = [side('nightly, rank 0, step 25'), side('baseline, rank 0, step 25')];
  await here.getByRole('img', { name: /forward\/log/ }).waitFor();
  await there.getByRole('img', { name: /forward\/log/ }).waitFor();
  const picture = () => there.locator('canvas').screenshot();
  const before = await picture();
  await here.locator('canvas').hover();
  await page.mouse.wheel(0, 120);
  await expect.poll(async () => Buffer.compare(await picture(), before)).not.toBe(0);
  await browser.shot('both_graphs');
  expect(await browser.axe()).toEqual([]);
  await button('Close both graphs').click();
  await page.getByRole('img', { name: /nodes/ }).first().waitFor();
  expect(browser.errors).toEqual([]);
});

it('has no defects that axe finds', async () => {
  await openTensor('step=20');
  await page.getByRole('grid', { name: 'Values of forward/log:0' }).waitFor();
  expect(await browser.axe()).toEqual([]);
});
