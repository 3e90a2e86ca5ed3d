// The graph coloured by a statistic, and the timeline of the ops.

import { expect, it } from 'vitest';
import { browser, button, fixture, page, start } from './harness';

const address = () => page.evaluate(() => window.location.hash);
const choice = () => page.getByLabel('Colour by').getByRole('combobox');
const state = () => page.getByLabel('Colour by').getByRole('status');
const timeline = () => page.getByRole('slider', { name: 'Timeline' });

async function openRun(query: string): Promise<void> {
  await start(['--runs']);
  await page.goto(`${fixture.address}#/runs/nightly?${query}`);
  await page.getByRole('tree').waitFor();
}

it('colours the ops by a statistic of the step, and says what they mean', async () => {
  await openRun('step=1');
  await choice().selectOption('abs_mean');
  await state().getByText(/ops of step 1$/).waitFor();
  await page.getByRole('slider', { name: 'Step' }).focus();
  await page.keyboard.press('ArrowRight');
  await state().getByText(/ops of step 2$/).waitFor();
  await browser.shot('health');
  expect(await browser.axe()).toEqual([]);
  await choice().selectOption('nothing');
  await expect.poll(() => state().textContent()).toBe('');
  expect(browser.errors).toEqual([]);
});

it('moves along the ops by keys, and to those with NaN or infinity', async () => {
  await openRun('step=5');
  await choice().selectOption('non_finite');
  await button('Show ops in order of execution').click();
  await timeline().focus();
  await page.keyboard.press('Home');
  await expect.poll(() => timeline().getAttribute('aria-valuenow')).toBe('1');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => timeline().getAttribute('aria-valuenow')).toBe('3');
  await page.keyboard.press('Shift+ArrowRight');
  await expect.poll(() => timeline().getAttribute('aria-valuetext')).toMatch(/: forward\/.*\n.*Inf/);
  expect(await address()).toContain('node=forward/');
  expect(await browser.axe()).toEqual([]);
  await browser.shot('timeline');
});

it('is scrubbed with the mouse, and leaves no trace in the history', async () => {
  await openRun('step=5');
  await button('Show ops in order of execution').click();
  const before = await page.evaluate(() => window.history.length);
  const box = await timeline().boundingBox();
  if (box === null) throw new Error('no timeline');
  await page.mouse.move(box.x + 20, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + 30, { steps: 5 });
  await page.mouse.up();
  const last = await timeline().getAttribute('aria-valuemax');
  await expect.poll(() => timeline().getAttribute('aria-valuenow')).toBe(last);
  expect(await page.evaluate(() => window.history.length)).toBe(before);
});

it('shows the whole file with the ops and hits of each line', async () => {
  await openRun('step=12&node=forward/log');
  await button('Whole file').click();
  const file = page.getByRole('list', { name: 'Whole file' });
  const line = file.getByRole('button', { name: /torch\.log/ });
  await expect.poll(() => line.getAttribute('aria-description')).toMatch(/^line 53, 2 ops, 2 hits$/);
  await expect.poll(() => line.getAttribute('aria-current')).toBe('true');
  await line.focus();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  const before = file.getByRole('button', { name: /torch\.softmax/ });
  await expect.poll(() => before.getAttribute('aria-current')).toBe('true');
  await page.getByText(/ops? from this line/).waitFor();
  await browser.shot('file');
  expect(await browser.axe()).toEqual([]);
});
