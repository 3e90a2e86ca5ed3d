// An opened model: nothing to run, blocks, weights inside their ops, and the side panel.

import { describe, expect, it } from 'vitest';
import { browser, fixture, page, start, treeItem } from './harness';

const region = (name: string) => page.getByRole('region', { name, exact: true });

async function begin(scheme: 'light' | 'dark', address = '', size: { width?: number; height?: number } = {}): Promise<void> {
  await start(['--graph', 'model'], { scheme, ...size });
  await page.goto(`${fixture.address}#/jobs/digits-1${address}`);
  await page.waitForFunction(() => performance.getEntriesByName('graphdbg:first-graph').length > 0);
  await page.getByText('Model, not run').waitFor();
}

describe('an opened model', () => {
  it('has blocks and no run control', async () => {
    await begin('dark', '', { width: 1280, height: 720 });
    await treeItem('Block × 12').waitFor();
    await treeItem('Block 1 of 12').waitFor();
    expect(await page.getByRole('toolbar', { name: 'Run control' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Continue' }).count()).toBe(0);
    await region('Model').getByText('graphdbg run -- digits_cnn.py --random-inputs').waitFor();
    await region('Model').getByRole('list', { name: 'Outputs' }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('model-dark');
  });

  it('shows the attributes, inputs and weights of an op, and the values of a weight', async () => {
    await begin('light', '?node=net/n0');
    const panel = region('Node properties');
    await panel.getByText('kernel_shape').waitFor();
    await panel.getByText('[7, 7]').waitFor();
    await panel.getByRole('list', { name: 'Inputs' }).getByText('x').waitFor();
    const weights = panel.getByRole('list', { name: 'Weights' });
    await weights.getByText('16×3×7×7 f32').waitFor();
    // Ops have no values, so the lower panel would be empty.
    expect(await region('Node').count()).toBe(0);
    await weights.getByRole('button').first().click();
    await region('Node').getByRole('heading', { name: 'net/w0' }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('model-node-light');
    await page.getByRole('button', { name: 'Whole model' }).click();
    await region('Model').waitFor();
  });
});
