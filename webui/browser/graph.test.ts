// The graph in a browser: a huge one, hostile names, and a neighbourhood.

import { describe, expect, it } from 'vitest';
import { HOSTILE } from '../dev/fixture_graph.mjs';
import { visible } from '../src/base/visible';
import { browser, button, fixture, type Options, page, start, treeItem } from './harness';

async function begin(flags: string[], address = '', options: Options = {}) {
  await start(flags, options);
  await page.goto(`${fixture.address}#/jobs/digits-1${address}`);
  await page.waitForFunction(() => performance.getEntriesByName('graphdbg:first-graph').length > 0);
}

const picture = () => page.getByRole('img', { name: /^Graph:/ });
const summary = async () => (await picture().getAttribute('aria-label')) ?? '';

async function waitForSummary(text: RegExp): Promise<void> {
  await page.waitForFunction(
    (wanted) => new RegExp(wanted).test(document.querySelector('.graph-frame canvas')?.getAttribute('aria-label') ?? ''),
    text.source,
  );
}

describe('a graph of 100,000 nodes', () => {
  it('is searched, opened at a node and opened as a whole', async () => {
    await begin(['--graph', 'large']);
    await page.getByText('100,000', { exact: true }).waitFor();
    await treeItem('layers').waitFor();
    // A thousand similar siblings are one box.
    expect(await summary()).not.toContain('1,000');

    await page.keyboard.press('/');
    await page.keyboard.type('mul_7654');
    await page.getByText('11 results').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'mul_7654' }).waitFor();
    await page.keyboard.press('Escape');
    await treeItem('mul_7654').waitFor();
    expect(await treeItem('mul_7654').getAttribute('aria-selected')).toBe('true');
    await waitForSummary(/selected: forward\/layers\/76\/block5\/mul_7654/);

    await page.getByRole('searchbox').fill('source:digits_cnn.py:25 kind:op');
    await page.getByText('2,000 results').waitFor();
    await page.keyboard.press('Escape');

    await button('Open all scopes').click();
    await waitForSummary(/Graph: 100,000 nodes/);
    await browser.shot('large-all-open');
    await button('Close all scopes').click();
    await waitForSummary(/Graph: 0 nodes, 0 open scopes and 1 closed scope/);
  });
});

it('walks in the order of execution, into scopes that are closed, and along tensors', async () => {
  await begin([], '?node=forward/max_pool2d&open=forward');
  await waitForSummary(/selected: forward\/max_pool2d/);
  await page.keyboard.press(',');
  await waitForSummary(/selected: forward\/blocks\/1\/relu_1/);
  await treeItem('relu_1').first().waitFor();
  await page.keyboard.press('.');
  await waitForSummary(/selected: forward\/max_pool2d/);
  await page.getByRole('heading', { name: 'max_pool2d' }).waitFor();
  await page.keyboard.press(']');
  await waitForSummary(/selected: forward\/view/);
  await page.getByRole('heading', { name: 'view' }).waitFor();
  await page.keyboard.press('[');
  await waitForSummary(/selected: forward\/max_pool2d/);
});

describe('hostile names', () => {
  it('are text, wherever they show', async () => {
    await begin(['--graph', 'hostile']);
    await button('Open all scopes').click();
    for (const name of HOSTILE) {
      await page.locator('.tree-label', { hasText: visible(name).slice(0, 60) }).first().waitFor();
    }
    expect(await page.locator('.tree img, .tree script, .tree b').count()).toBe(0);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(wide).toBe(false);
    for (const name of HOSTILE.slice(0, 5)) {
      await page.getByRole('searchbox').fill(name.slice(0, 12));
      await page.getByRole('option').first().click();
      await page.getByRole('heading', { name: /./ }).first().waitFor();
    }
    await page.getByRole('searchbox').fill('');
    await browser.shot('hostile-names');
  });
});

describe('a neighbourhood', () => {
  it('is a view with an address of its own', async () => {
    await begin([], '?node=forward/log&around=1');
    await waitForSummary(/Graph: 4 nodes, 0 open/);
    await button('Increase distance').click();
    await waitForSummary(/Graph: [5-9] nodes/);
    expect(page.url()).toContain('around=2');
    await browser.shot('neighbourhood');
    await page.getByRole('group', { name: 'Graph view' }).focus();
    await page.keyboard.press('Escape');
    await waitForSummary(/open scopes/);
    expect(page.url()).not.toContain('around');
    await page.keyboard.press('a');
    await waitForSummary(/Graph: 4 nodes, 0 open/);
    await page.goBack();
    await page.getByRole('group', { name: 'Neighbourhood' }).waitFor({ state: 'detached' });
  });
});

it('without an index asks for one scope after the other', async () => {
  await begin(['--no-index']);
  await treeItem('stem').first().dblclick();
  await treeItem('convolution').first().waitFor();
  await page.getByRole('searchbox').fill('softmax category:activation');
  await page.getByRole('option', { name: 'forward/_softmax' }).waitFor();
});

it('lists the nodes of a line, grouped by source', async () => {
  await begin([]);
  await button('Group by source line').click();
  await page.getByRole('tree', { name: 'Nodes by source line' }).waitFor();
  await page.getByRole('treeitem', { name: /^53 / }).dblclick();
  await treeItem('log').click();
  await waitForSummary(/selected: forward\/log/);
  await browser.shot('by-source');
  await button('Group by source line').click();
  expect(await treeItem('log').getAttribute('aria-selected')).toBe('true');
});
