// Every view in a small window: axe finds no violation, and no text is too small to be read.

import { describe, expect, it } from 'vitest';
import { browser, button, fixture, openJob, page, start, treeItem } from './harness';

const WINDOW = { width: 1280, height: 720 };
const LEAST_PX = 11.5;
const ROW_PX = 20;
const LEAST_ROWS = 5;
// Each test looks at many views.
const TIMEOUT_MS = 240_000;

// Texts below the least size, with their sizes. Also looks at texts that style sheets insert.
async function smallTexts(): Promise<string[]> {
  return await page.evaluate((least) => {
    const small = (element: Element, text: string, pseudo?: string) => {
      const size = parseFloat(getComputedStyle(element, pseudo).fontSize);
      return /\w/.test(text) && size < least ? [`${size}px: ${text.slice(0, 40)}`] : [];
    };
    return [...document.querySelectorAll('body *')].flatMap((element) => {
      const { width, height } = element.getBoundingClientRect();
      if (width < 2 || height < 2 || element.matches('script, style, option')) return [];
      const own = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.textContent);
      const inserted = ['::before', '::after'].flatMap((pseudo) => {
        const { content } = getComputedStyle(element, pseudo);
        return content === 'none' || content === 'normal' ? [] : small(element, content, pseudo);
      });
      return [...small(element, own.join('').trim()), ...inserted];
    });
  }, LEAST_PX);
}

async function check(view: string): Promise<void> {
  await browser.shot(`small-${view}`);
  expect(await browser.axe(), view).toEqual([]);
  expect(await smallTexts(), view).toEqual([]);
}

// The values of a comparison are what the view is for.
async function checkRoomForGrids(): Promise<void> {
  await page.getByRole('region', { name: 'difference' }).getByRole('grid').waitFor();
  const grids = await page.getByRole('region', { name: 'Values' }).getByRole('grid').all();
  expect(grids).toHaveLength(3);
  for (const grid of grids) expect((await grid.boundingBox())?.height ?? 0).toBeGreaterThan(LEAST_ROWS * ROW_PX);
}

const tab = (name: string) => page.getByRole('tab', { name });
const heading = (name: string) => page.getByRole('region', { name: 'Node' }).getByRole('heading', { name });

async function toHit(): Promise<void> {
  await openJob();
  await button('Add watchpoint').first().click();
  await page.getByLabel('When').waitFor();
  await check('watchpoint-form');
  await button('Add').click();
  await button('Continue').click();
  await page.getByRole('grid', { name: 'Values of forward/log:0' }).waitFor();
}

describe.each(['light', 'dark'] as const)('in the %s scheme', (scheme) => {
  const options = { ...WINDOW, scheme };

  it('the views of the server', { timeout: TIMEOUT_MS }, async () => {
    await start(['--runs', '--trainings'], options);
    await page.goto(fixture.address);
    await page.getByRole('link', { name: 'digits_cnn.py' }).waitFor();
    await page.getByRole('row', { name: /finetune\.py/ }).waitFor();
    await page.getByRole('link', { name: 'nightly' }).waitFor();
    await check('jobs');
    await button('Terminate digits_cnn.py').click();
    await page.getByRole('alertdialog').waitFor();
    await check('jobs-terminate');
    await page.keyboard.press('Escape');
    await page.goto(`${fixture.address}#/audit`);
    await page.getByRole('heading', { name: 'Audit log' }).waitFor();
    await check('audit');
    await page.goto(`${fixture.address}#/jobs/nobody`);
    await page.getByText('Could not open this job').waitFor();
    await check('no-job');
  });

  it('a job at a hit', { timeout: TIMEOUT_MS }, async () => {
    await start([], options);
    await toHit();
    await page.getByRole('group', { name: 'Neighbourhood' }).waitFor();
    await check('hit');
    await button('Whole graph').click();
    for (const name of ['Heat map', 'Histogram', 'History', 'Compare', 'Advice']) {
      await tab(name).click();
      await page.getByRole('progressbar').waitFor({ state: 'detached' });
      await check(name);
      if (name === 'Compare') await checkRoomForGrids();
    }
    await tab('Log').click();
    await check('log');
    await button('Change').click();
    await page.getByRole('form', { name: 'Change the paused job' }).waitFor();
    await check('change');
    await page.keyboard.press('Escape');
    await button('Maximize panel').click();
    await check('maximized');
    await button('Restore layout').click();
    await button('Terminate').click();
    await page.getByRole('alertdialog').waitFor();
    await check('terminate');
  });

  it('nodes, search and menus', { timeout: TIMEOUT_MS }, async () => {
    await start([], options);
    await openJob();
    await check('start');
    await treeItem('backward').click();
    await heading('backward').waitFor();
    await check('scope');
    await page.goto(`${fixture.address}#/jobs/digits-1?node=forward/stem/weight`);
    await heading('forward/stem/weight').waitFor();
    await check('parameter');
    await button('Group by source line').click();
    await check('source-tree');
    await page.keyboard.press('/');
    await page.keyboard.type('relu');
    await page.getByRole('option').first().waitFor();
    await check('search');
    await page.keyboard.type(' nowhere');
    await page.getByText('No results').waitFor();
    await check('no-results');
    await page.keyboard.press('Escape');
    await button('Group by source line').click();
    await treeItem('backward').click({ button: 'right' });
    await page.getByRole('menu').waitFor();
    await check('menu');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').waitFor();
    await check('palette');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await check('keys');
  });

  it('a job that is over, ranks, and a recorded run', { timeout: TIMEOUT_MS }, async () => {
    await start(['--runs', '--ranks', '4'], options);
    await page.goto(`${fixture.address}#/jobs/warmup-7?node=forward/log`);
    await page.getByRole('note', { name: 'How the job ended' }).waitFor();
    await heading('forward/log').waitFor();
    expect(await button('Add watchpoint').count()).toBe(0);
    expect(await button('Watch').count()).toBe(0);
    await check('ended');
    await page.goto(`${fixture.address}#/jobs/digits-1`);
    await page.getByRole('button', { name: /^Rank 0 of 4/ }).click();
    await check('ranks');
    await page.goto(`${fixture.address}#/runs/nightly?node=forward/log&step=25`);
    await page.getByRole('slider', { name: 'Step' }).waitFor();
    await heading('forward/log').waitFor();
    await check('run');
  });

  it('the overview, comparisons and the source of a recorded run', { timeout: TIMEOUT_MS }, async () => {
    await start(['--runs'], options);
    const run = `${fixture.address}#/runs/nightly`;
    const map = page.getByRole('group', { name: 'Modules over steps' });
    for (const shown of ['activation', 'gradient', 'zeros', 'non_finite', 'time']) {
      await page.goto(`${run}?overview=${shown}`);
      await map.getByRole('img').or(page.getByRole('img', { name: /^Time of each step/ })).first().waitFor();
      await check(`overview-${shown}`);
    }
    await page.goto(`${run}?overview=activation`);
    await map.getByRole('img').waitFor();
    await map.focus();
    for (const key of ['End', 'ArrowDown', 'd']) await page.keyboard.press(key);
    await page.getByRole('img', { name: 'Distribution of stem' }).waitFor();
    await check('overview-distribution');
    await button('Show as table').click();
    await page.getByRole('row').first().waitFor();
    await check('overview-table');
    await page.goto(`${run}?step=25&compare=baseline:0&node=forward/log`);
    await button('Show both graphs').click();
    await page.getByRole('region', { name: 'baseline, rank 0, step 25' }).getByRole('img').first().waitFor();
    await check('both-graphs');
    await page.goto(`${run}?step=12&node=forward/log`);
    await button('Whole file').click();
    await page.getByRole('list', { name: 'Whole file' }).waitFor();
    await check('whole-file');
    await button('Check a condition').first().click();
    await page.getByRole('form', { name: 'New check' }).waitFor();
    await check('condition-check');
  });

  it('an opened model', { timeout: TIMEOUT_MS }, async () => {
    await start(['--graph', 'model'], options);
    await page.goto(`${fixture.address}#/jobs/digits-1`);
    await page.getByRole('region', { name: 'Model', exact: true }).getByRole('list', { name: 'Outputs' }).waitFor();
    await check('model');
    await page.goto(`${fixture.address}#/jobs/digits-1?node=net/n0`);
    await page.getByRole('region', { name: 'Node properties' }).getByText('kernel_shape').waitFor();
    await check('model-node');
  });
});
