// Sessions, roles, the control of a job, and the page's messages when the server or a job cannot
// be relied on.

import { describe, expect, it } from 'vitest';
import { browser, button, fixture, openJob, page, start, treeItem } from './harness';

const TOKEN = 'sesame';

async function call(method: string, path: string, body?: object): Promise<void> {
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
  await fetch(`${fixture.address}api/v1${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
}

describe('a session', () => {
  it('belongs to the tab and is shared with tabs that are opened later', async () => {
    await start(['--token', TOKEN]);
    await page.goto(`${fixture.address}#code=once`);
    await page.getByRole('link', { name: 'digits_cnn.py' }).waitFor();
    const stored = await page.evaluate(() => [JSON.stringify(localStorage), sessionStorage.length]);
    expect(stored).toEqual([expect.not.stringContaining(TOKEN), 1]);
    const second = await page.context().newPage();
    await second.goto(fixture.address);
    await second.getByRole('link', { name: 'digits_cnn.py' }).waitFor();
  });

  it('is not started by an address that was used before', async () => {
    await start(['--token', TOKEN]);
    await call('POST', '/login', { code: 'once' });
    await page.goto(`${fixture.address}#code=once`);
    await page.getByRole('heading', { name: 'This address is no longer valid' }).waitFor();
    await page.getByText('graphdbg url').waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('address-used');
    await page.getByLabel('Token or full URL').fill(`${fixture.address}#code=once-more`);
    await button('Sign in').click();
    await page.getByRole('link', { name: 'digits_cnn.py' }).waitFor();
  });

  it('that ends keeps what the page shows', async () => {
    await start(['--token', TOKEN]);
    await page.goto(`${fixture.address}#code=once`);
    await page.getByRole('link', { name: 'digits_cnn.py' }).click();
    await treeItem('log').click();
    await page.getByRole('region', { name: 'Values' }).waitFor();
    await button('Add watchpoint').first().click();
    await page.getByRole('form', { name: 'New watchpoint' }).getByLabel('On', { exact: true }).selectOption('pattern');
    await page.getByLabel('Pattern').fill('forward/half-typed');
    await call('DELETE', '/session');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('session-ended');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await dialog.getByLabel('Token or full URL').fill(`${fixture.address}#code=once-again`);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await page.getByLabel('Pattern').inputValue()).toBe('forward/half-typed');
    await page.getByRole('region', { name: 'Node', exact: true }).waitFor();
    await button('Step').click();
    await page.getByRole('status', { name: 'Job state' }).getByText('after a step').waitFor();
  });
});

describe('a role', () => {
  it('of a viewer disables what changes jobs and says why', async () => {
    await start(['--role', 'view']);
    await openJob();
    const why = /needs the role “control”; yours is “view”/;
    await expect.poll(() => button('Continue').getAttribute('aria-description')).toMatch(why);
    await expect.poll(() => button('Add watchpoint').first().getAttribute('aria-description')).toMatch(why);
    expect(await button('Terminate').getAttribute('aria-description')).toMatch(/role “admin”/);
    await page.keyboard.press('F10');
    await treeItem('log').click();
    await page.getByRole('region', { name: 'Values' }).waitFor();
    expect(await page.getByTestId('step').textContent()).toBe('0');
  });

  it('does not go beyond what the job’s owner allows', async () => {
    await start(['--allow', 'view,control']);
    await openJob();
    expect(await button('Terminate').getAttribute('aria-description')).toMatch(/owner does not allow terminating/);
    expect(await button('Continue').getAttribute('aria-disabled')).toBeNull();
  });
});

describe('the control of a job', () => {
  it('is taken over with one click, and the command is sent then', async () => {
    await start(['--controller', 'alice']);
    await openJob();
    await page.getByText('Controlled by alice').waitFor();
    await button('Step').click();
    const message = page.getByRole('log', { name: 'Messages' });
    await message.getByText('alice controls this job').waitFor();
    await browser.shot('controlled-by-another');
    await message.getByRole('button', { name: 'Take over' }).click();
    await expect.poll(() => page.getByTestId('step').textContent()).toBe('1');
    expect(await page.getByText('Controlled by').count()).toBe(0);
  });

  it('can be taken over before a command', async () => {
    await start(['--controller', 'alice']);
    await openJob();
    const chip = page.getByRole('group', { name: 'Controlled by alice' });
    await chip.getByRole('button', { name: 'Take over' }).click();
    await chip.waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: 'Log' }).click();
    await page.getByText('owner took over the control').waitFor();
  });
});

describe('ending and removing', () => {
  it('ask first, and Enter alone does not confirm', async () => {
    await start();
    await openJob();
    await page.keyboard.press('Shift+F5');
    const dialog = page.getByRole('alertdialog', { name: 'Terminate digits_cnn.py?' });
    await dialog.waitFor();
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    expect(await page.getByRole('status', { name: 'Job state' }).textContent()).toMatch(/Paused/);
    await page.keyboard.press('Shift+F5');
    await dialog.waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('status', { name: 'Job state' }).getByText('Terminated').waitFor();
  });

  it('a job is removed for good once that is confirmed', async () => {
    await start();
    await page.goto(fixture.address);
    const job = page.getByRole('link', { name: 'warmup.py' });
    await page.getByRole('button', { name: 'Remove warmup.py' }).click();
    await page.keyboard.press('Escape');
    await job.waitFor();
    await page.getByRole('button', { name: 'Remove warmup.py' }).click();
    await page.getByRole('alertdialog', { name: 'Remove warmup.py?' }).getByRole('button', { name: 'Remove job' }).click();
    await job.waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('link', { name: 'digits_cnn.py' }).waitFor();
    expect(await job.count()).toBe(0);
  });
});

describe('what cannot be relied on', () => {
  it('is marked, with the reason', async () => {
    await start(['--untrusted']);
    await page.goto(fixture.address);
    await page.getByText('the record of step 3 is incomplete').waitFor();
    expect(await browser.axe()).toEqual([]);
    await page.getByText('unverified').hover();
    await page.getByRole('tooltip').getByText(/has no authentication/).waitFor();
    await browser.shot('untrusted-jobs');
  });

  it('a server that cannot store says so until it can again', async () => {
    await start();
    await openJob();
    await call('POST', '/fixture/storage', { state: 'failing', reason: 'no space left on device', since: '2026-01-01T12:00:00Z' });
    const banner = page.getByRole('alert').filter({ hasText: 'cannot store what happens: no space left on device' });
    await banner.waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('storage-failing');
    await page.reload();
    await banner.waitFor();
    await call('POST', '/fixture/storage', { state: 'ok' });
    await banner.waitFor({ state: 'detached' });
  });
});

describe('the audit log', () => {
  it('is read page by page', async () => {
    await start();
    await page.goto(fixture.address);
    await button('Audit log').click();
    await page.getByRole('cell', { name: 'step 130' }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('audit-log');
    await button('Older entries').click();
    await page.getByRole('cell', { name: 'step 1', exact: true }).waitFor();
    expect(await button('Older entries').count()).toBe(0);
    expect(page.url()).toContain('#/audit');
  });

  it('is not for other roles', async () => {
    await start(['--role', 'control']);
    await page.goto(`${fixture.address}#/audit`);
    await page.getByText(/needs the role “admin”/).waitFor();
  });
});
