// A whole session without a pointing device.

import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { browser, button, fixture, page, start, treeItem } from './harness';

const state = () => page.getByRole('status', { name: 'Job state' });
const focused = (target: Locator) => target.evaluate((element) => element === document.activeElement);

// Presses Tab until the target has the focus.
async function tabTo(target: Locator): Promise<void> {
  await target.waitFor();
  for (let presses = 0; presses < 120; presses += 1) {
    if (await focused(target)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${String(target)}`);
}

async function choose(target: Locator): Promise<void> {
  await tabTo(target);
  await page.keyboard.press('Enter');
}

it('goes from the list of jobs to a hit, its values and a comparison, and ends the job', async () => {
  await start([], { width: 1280, height: 720 });
  await page.goto(fixture.address);
  await choose(page.getByRole('link', { name: 'digits_cnn.py' }));
  await treeItem('log').waitFor();

  await choose(button('Add watchpoint').first());
  await choose(button('Add'));
  await page.getByRole('switch').waitFor();
  await page.keyboard.press('F8');
  await state().getByText('Paused by a watchpoint').waitFor();

  // The neighbourhood of the hit, and back, wherever the focus is.
  const around = page.getByRole('group', { name: 'Neighbourhood' });
  await around.waitFor();
  await page.keyboard.press('n');
  await page.getByRole('heading', { name: 'forward/log' }).waitFor();
  await tabTo(page.getByRole('tree'));
  await page.keyboard.press('a');
  await around.waitFor({ state: 'detached' });
  await page.keyboard.press('/');
  expect(await focused(page.getByRole('searchbox'))).toBe(true);
  await page.keyboard.type('a');
  expect(await around.count()).toBe(0);
  await page.keyboard.press('Escape');

  // The grid begins at the first infinity.
  const grid = page.getByRole('grid', { name: 'Values of forward/log:0' });
  await grid.getByRole('gridcell', { name: '▼ -Inf', selected: true }).waitFor();
  await tabTo(grid);
  const before = await grid.getAttribute('aria-activedescendant');
  expect(before).not.toBeNull();
  await page.keyboard.press('ArrowDown');
  await choose(page.getByRole('button', { name: /^Next NaN/ }));
  await grid.getByRole('gridcell', { name: '▼ -Inf', selected: true }).waitFor();

  await tabTo(page.getByRole('tab', { name: 'Values' }));
  for (const name of ['Heat map', 'Histogram', 'History', 'Compare']) {
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tab', { name, selected: true }).waitFor();
  }
  await tabTo(page.getByLabel('Compare with'));

  // Its watchpoint would pause the job again within the step.
  await tabTo(page.getByRole('switch'));
  await page.keyboard.press('Space');
  await page.keyboard.press('F10');
  await page.getByTestId('step').getByText('4', { exact: true }).waitFor();
  await page.keyboard.press('Shift+F5');
  await page.getByRole('alertdialog').waitFor();
  await choose(button('Terminate job'));
  await state().getByText('Terminated').waitFor();
  expect(await browser.axe()).toEqual([]);
});
