// What an administrator orders: changes of the paused job, attaching to trainings and detaching from them.

import { describe, expect, it } from 'vitest';
import { browser, button, fixture, openJob, page, start } from './harness';

const form = () => page.getByRole('form', { name: 'Change the paused job' });
const message = () => page.getByRole('log', { name: 'Messages' });

describe('the paused job', () => {
  it('is changed by keys alone, and wrong entries are named', async () => {
    await start(['--ranks', '2']);
    await openJob();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').waitFor();
    await page.keyboard.type('change the paused');
    await page.keyboard.press('Enter');
    await form().waitFor();
    const what = form().getByLabel('What');
    await what.focus();
    await page.keyboard.type('Learning');
    expect(await what.inputValue()).toBe('learning_rate');
    await page.keyboard.press('Tab');
    await page.keyboard.type('fast');
    await page.keyboard.press('Enter');
    await form().getByRole('alert').getByText('Enter a learning rate of 0 or more.').waitFor();
    expect(await form().getByLabel('New learning rate').getAttribute('aria-invalid')).toBe('true');
    expect(await browser.axe()).toEqual([]);
    await page.keyboard.press('Control+a');
    await page.keyboard.type('0.002');
    await page.keyboard.press('Enter');
    await form().getByRole('status').getByText('Rank 1: learning rate 0.01 -> 0.002').waitFor();
    await browser.shot('changed');
    await what.selectOption('restore_step');
    await form().getByRole('button', { name: 'Change' }).click();
    await form().getByRole('alert').getByText(/There are no copies of the step/).waitFor();
    expect(await browser.axe()).toEqual([]);
    await page.keyboard.press('Escape');
    await form().waitFor({ state: 'detached' });
  });

  it('takes the tensor that is shown', async () => {
    await start();
    await page.goto(`${fixture.address}#/jobs/digits-1?node=forward/stem/weight`);
    await button('Copy or download').click();
    await page.getByRole('menuitem', { name: 'Change values…' }).click();
    expect(await form().getByLabel('Tensor', { exact: true }).inputValue()).toBe('forward/stem/weight:0');
    await form().getByLabel('Slice').fill('[0,:]');
    await form().getByLabel('New values').fill('1, nan');
    await page.keyboard.press('Enter');
    await form().getByText('forward/stem/weight:0 [0,:]: 2 elements set').waitFor();
  });

  it('is left with its form', async () => {
    await start();
    await openJob();
    await button('Change').click();
    await form().waitFor();
    await page.goto(`${fixture.address}#/jobs/warmup-7`);
    await form().waitFor({ state: 'detached' });
  });

  it('is changed by administrators only', async () => {
    await start(['--role', 'control']);
    await openJob();
    await expect.poll(() => button('Change').getAttribute('aria-description')).toMatch(/needs the role “admin”/);
  });
});

describe('trainings of the machine', () => {
  it('are attached to from the list of jobs, and refusals have a reason', async () => {
    await start(['--trainings']);
    await page.goto(fixture.address);
    const list = page.getByRole('table', { name: 'Trainings on this machine' });
    await list.getByRole('row', { name: /elsewhere\.py.*by http:\/\/127\.0\.0\.1:9090/ }).waitFor();
    await list.getByRole('button', { name: 'Attach to asleep.py, process 50877' }).click();
    await message().getByText(/is stopped \(SIGSTOP\)/).waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('trainings');
    await list.getByRole('button', { name: 'Attach to finetune.py, process 50110' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1 }).getByText('digits_cnn.py').waitFor();
  });

  it('are left from the page of their job, and attached to again', async () => {
    await start(['--trainings']);
    await openJob();
    await button('Detach').click();
    await message().getByText('detached; nothing is left').waitFor();
    const end = page.getByRole('note', { name: 'How the job ended' });
    await end.getByText('The program still runs, without graphdbg.').waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.shot('detached');
    await end.getByRole('button', { name: 'Attach again' }).click();
    await end.getByText('The program still runs').waitFor({ state: 'detached' });
  });

  it('are not for other roles, nor on servers that do not attach', async () => {
    await start(['--trainings', '--role', 'control']);
    await openJob();
    await expect.poll(() => button('Detach').getAttribute('aria-description')).toMatch(/needs the role “admin”/);
    await page.goto(fixture.address);
    await page.getByRole('link', { name: 'digits_cnn.py' }).waitFor();
    expect(await page.getByText('Trainings on this machine').count()).toBe(0);
  });
});
