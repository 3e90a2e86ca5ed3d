// The page in a browser: the actions of a user, on the fixture server.

import { beforeEach, describe, expect, it } from 'vitest';
import { browser, button, fixture, openJob, page, start, treeItem } from './harness';

const state = () => page.getByRole('status', { name: 'Job state' });
const picture = () => page.getByRole('img', { name: /^Graph:/ });

async function watchEverything(): Promise<void> {
  await button('Add watchpoint').first().click();
  await button('Add').click();
  await page.getByRole('switch').waitFor();
}

async function runToHit(): Promise<void> {
  await watchEverything();
  await button('Continue').click();
  await state().getByText('Paused by a watchpoint').waitFor();
}

async function measures(name: string): Promise<number> {
  await page.waitForFunction(
    (wanted) => performance.getEntriesByName(wanted).length > 0,
    name,
  );
  return await page.evaluate((wanted) => performance.getEntriesByName(wanted).length, name);
}

describe('a session', () => {
  beforeEach(() => start());

  it('goes from the list of jobs to the values of the first node that breaks', async () => {
    await page.goto(fixture.address);
    await browser.shot('jobs-dark');
    await page.getByRole('link', { name: 'digits_cnn.py' }).click();
    await state().getByText('Paused before the first step').waitFor();
    expect(await measures('graphdbg:first-graph')).toBe(1);

    await runToHit();
    expect(await page.getByTestId('step').textContent()).toBe('3');
    expect(await page.getByTestId('current-node').textContent()).toBe('forward/log');
    await page.getByRole('option', { name: /forward\/log/ }).waitFor();
    expect(await treeItem('log').getAttribute('aria-current')).toBe('true');
    expect(await picture().getAttribute('aria-label')).toContain('current node: forward/log');

    const grid = page.getByRole('grid', { name: 'Values of forward/log:0' });
    await grid.getByRole('gridcell', { name: '▼ -Inf' }).first().waitFor();
    await page.getByRole('region', { name: 'Source' }).getByText('digits_cnn.py:53').first().waitFor();
    await browser.shot('hit-dark');

    await button('Next node').click();
    await page.getByTestId('current-node').getByText('forward/gather').waitFor();
    await page.getByRole('switch').uncheck();
    await button('Step').click();
    await state().getByText('Paused after a step').waitFor();
    await page.getByLabel('Number of steps').fill('2');
    await button('Step').click();
    await page.getByTestId('step').getByText('5', { exact: true }).waitFor();

    await button('Terminate').click();
    await button('Terminate job').click();
    await state().getByText('Terminated').waitFor();
    expect(await button('Continue').getAttribute('aria-disabled')).toBe('true');
  });

  it('is controlled from the list of jobs', async () => {
    await page.goto(fixture.address);
    const row = page.getByRole('row', { name: /digits_cnn.py/ });
    await row.getByText('Paused before the first step').waitFor();
    await button('Continue digits_cnn.py').click();
    await row.getByText('Running').waitFor();
    await button('Pause digits_cnn.py').click();
    await row.getByText('Paused on request').waitFor();
    await button('Terminate digits_cnn.py').click();
    await button('Terminate job').click();
    await row.getByText('Terminated').waitFor();
    await button('Remove digits_cnn.py').waitFor();
    expect(await button('Continue digits_cnn.py').count()).toBe(0);
  });

  it('takes watchpoints on a scope, switches them off and deletes them', async () => {
    await openJob();
    await treeItem('backward').click();
    await page.getByRole('region', { name: 'Node' }).getByRole('button', { name: 'Watch' }).click();
    await page.getByLabel('When').selectOption('abs_max_gt');
    await page.getByLabel('value').fill('0.001');
    await button('Add').click();
    const row = page.getByRole('switch', { name: 'Watchpoint 1: abs_max > 0.001 on backward/' });
    await row.waitFor();
    await row.uncheck();
    await button('Continue').click();
    await state().getByText('Running').waitFor();
    await page.getByTestId('step').getByText(/^[3-9]$|^\d\d+$/).waitFor();
    await row.check();
    await state().getByText('Paused by a watchpoint').waitFor();
    await button('Delete watchpoint 1').click();
    await page.getByText('No watchpoints').waitFor();
  });

  it('opens and closes scopes in the tree and on the graph alike', async () => {
    await openJob();
    const before = await picture().getAttribute('aria-label');
    await treeItem('stem').first().dblclick();
    await treeItem('convolution').first().waitFor();
    await page.waitForFunction(
      (old) => document.querySelector('canvas')?.getAttribute('aria-label') !== old,
      before,
    );
    await measures('graphdbg:expand');
    expect(decodeURIComponent(page.url())).toContain('forward/stem');
    await page.reload();
    await treeItem('convolution').first().waitFor();
    // Enter on the graph opens and closes the selected scope.
    await page.getByRole('group', { name: 'Graph view' }).focus();
    await page.keyboard.press('Enter');
    await treeItem('convolution').first().waitFor({ state: 'detached' });
  });

  it('says how to begin in one line, which can be put away', async () => {
    await openJob();
    const line = page.getByRole('complementary', { name: 'Getting started' });
    expect((await line.boundingBox())?.height).toBeLessThan(40);
    expect(await browser.axe()).toEqual([]);
    await browser.shot('welcome');
    await button('Don’t show again').click();
    await line.waitFor({ state: 'detached' });
    await page.reload();
    // The node panel must not cover the selected row or box.
    const row = treeItem('optimizer');
    await row.click();
    await page.getByRole('region', { name: 'Node' }).getByRole('heading', { name: 'optimizer' }).waitFor();
    const inView = async () => {
      const [tree, item] = [await page.getByRole('tree').boundingBox(), await row.boundingBox()];
      return tree !== null && item !== null && item.y + item.height <= tree.y + tree.height;
    };
    await expect.poll(inView).toBe(true);
    expect(await line.count()).toBe(0);
  });

  it('finds nodes while the name is typed', async () => {
    await openJob();
    await page.keyboard.press('/');
    await page.keyboard.type('softmax_b');
    // Pressed at once: must go to a result of the whole text, not of a part of it.
    await page.keyboard.press('Enter');
    await page.getByRole('option', { name: 'backward/_softmax_backward_data' }).waitFor();
    await page.getByRole('heading', { name: '_softmax_backward_data' }).waitFor();
    await measures('graphdbg:search');
    await page.getByRole('searchbox').fill('no such node');
    await page.getByText('No results').waitFor();
    await page.keyboard.press('Escape');
    await treeItem('log').waitFor();
  });

  it('shows the slice that is typed, and says what is wrong with one', async () => {
    await openJob();
    await runToHit();
    await page.getByLabel('Slice').fill('[2:4, ::-1]');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelectorAll('[role=gridcell]').length === 20);
    await measures('graphdbg:slice');
    expect(page.url()).toContain('slice=[2:4');
    await page.getByLabel('Slice').fill('[99]');
    await page.getByText('index 99 is out of bounds for axis 0 with size 64').waitFor();
  });

  it('goes back and forth by the address', async () => {
    await openJob();
    await treeItem('log').click();
    await treeItem('gather').click();
    await page.goBack();
    await page.waitForFunction(() => location.hash.includes('node=forward/log'));
    expect(await treeItem('log').getAttribute('aria-selected')).toBe('true');
    await page.goForward();
    await page.waitForFunction(() => location.hash.includes('node=forward/gather'));
  });

  it('says so when an address names what is not there', async () => {
    await page.goto(`${fixture.address}#/jobs/digits-1?node=forward/nothing`);
    await page.getByText('There is no node "forward/nothing" in this job.').waitFor();
    await page.goto(`${fixture.address}#/jobs/nobody`);
    await page.getByText('Could not open this job').waitFor();
    await button('All jobs').click();
    await page.getByRole('link', { name: 'warmup.py' }).waitFor();
  });

  it('can be driven by keys alone', async () => {
    await openJob();
    await watchEverything();
    await page.keyboard.press('F8');
    await state().getByText('Paused by a watchpoint').waitFor();
    await page.keyboard.press('F11');
    await page.getByTestId('current-node').getByText('forward/gather').waitFor();
    await page.getByRole('tree').focus();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'forward/log' }).waitFor();
    await page.keyboard.press('Shift+F5');
    await page.getByRole('alertdialog').waitFor();
    await page.keyboard.press('Escape');
    await state().getByText('Paused at a node').waitFor();
  });
});

describe('a lost server', () => {
  it('is announced, and the page goes on by itself when it is back', async () => {
    await start();
    await openJob();
    await fixture.stop();
    await page.getByText('Connection to the server lost.').waitFor();
    expect(await button('Continue').getAttribute('aria-description')).toContain('Not connected');
    await browser.shot('lost-dark');
    await fixture.start();
    await page.getByText('Connection to the server lost.').waitFor({ state: 'detached' });
    await button('Continue').click();
    await state().getByText('Running').waitFor();
  });
});

describe('login', () => {
  it('asks for the token, refuses a wrong one and remembers the right one', async () => {
    await start(['--token', 'right']);
    await page.goto(fixture.address);
    await page.getByLabel('Token or full URL').fill('wrong');
    await button('Sign in').click();
    await page.getByText('Invalid token.').waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('login-dark');
    await page.getByLabel('Token or full URL').fill('right');
    await button('Sign in').click();
    await page.getByRole('link', { name: 'digits_cnn.py' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'digits_cnn.py' }).click();
    await treeItem('log').waitFor();
  });

  it('takes the one-time code of the address and removes it', async () => {
    await start(['--token', 'right']);
    await page.goto(`${fixture.address}#code=once`);
    await page.getByRole('link', { name: 'digits_cnn.py' }).waitFor();
    expect(page.url()).not.toContain('code');
  });

  it('says why a used code does not do', async () => {
    await start(['--token', 'right']);
    await page.goto(`${fixture.address}#code=used`);
    await page.getByRole('heading', { name: 'This address is no longer valid' }).waitFor();
  });
});

describe('nothing yet', () => {
  it('says how a job comes to be listed', async () => {
    await start(['--empty']);
    await page.goto(fixture.address);
    await page.getByText('No jobs yet').waitFor();
    expect(await page.locator('pre').textContent()).toContain('GRAPHDBG_PORT=50051');
    expect(await browser.axe()).toEqual([]);
  });
});

describe.each(['light', 'dark'] as const)('in the %s scheme', (scheme) => {
  it('axe finds nothing to object to', async () => {
    await start([], { scheme, width: 1600, height: 1000 });
    await page.goto(fixture.address);
    await page.getByRole('link', { name: 'digits_cnn.py' }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot(`jobs-${scheme}-1600`);
    await openJob();
    expect(await browser.axe()).toEqual([]);
    await browser.shot(`start-${scheme}-1600`);
    await button('Add watchpoint').first().click();
    await page.getByLabel('When').waitFor();
    expect(await browser.axe()).toEqual([]);
    await button('Add').click();
    await button('Continue').click();
    await page.getByRole('grid').waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot(`hit-${scheme}-1600`);
    await button('Terminate').click();
    await page.getByRole('alertdialog').waitFor();
    expect(await browser.axe()).toEqual([]);
  });
});
