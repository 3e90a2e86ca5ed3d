import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Tooltip } from './tooltip';

// Loads the popup ahead, as if a tooltip had been shown before.
import './tip';

beforeEach(() => {
  // Long after the tooltip of the previous test.
  vi.useFakeTimers({ now: Date.now() + 1e6, shouldAdvanceTime: false });
  render(
    <>
      <Tooltip text="Runs on" shortcut="F5">
        <button type="button">Continue</button>
      </Tooltip>
      <Tooltip text="Stops">
        <button type="button">Pause</button>
      </Tooltip>
    </>,
  );
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const button = (name: string) => screen.getByRole('button', { name });
const pass = (ms: number) => act(async () => vi.advanceTimersByTimeAsync(ms));
const point = (name: string) => fireEvent.pointerEnter(button(name), { pointerType: 'mouse' });
const tips = () => screen.queryAllByRole('tooltip', { hidden: true }).map((tip) => tip.textContent);

it('comes when the pointer has rested, and describes its element', async () => {
  point('Continue');
  await pass(300);
  expect(tips()).toEqual([]);
  await pass(100);
  expect(tips()).toEqual(['Runs onF5']);
  const id = screen.getByRole('tooltip', { hidden: true }).id;
  expect(button('Continue').getAttribute('aria-describedby')).toBe(id);
});

it('stays while the pointer is on it, and goes soon after', async () => {
  point('Continue');
  await pass(400);
  fireEvent.pointerLeave(button('Continue'));
  await pass(50);
  const tip = screen.getByRole('tooltip', { hidden: true });
  vi.spyOn(tip, 'getBoundingClientRect').mockReturnValue(new DOMRect(100, 100, 200, 20));
  // What it covers gets the event.
  fireEvent.pointerMove(document.body, { clientX: 150, clientY: 110 });
  await pass(1000);
  expect(tips()).toHaveLength(1);
  fireEvent.pointerMove(document.body, { clientX: 150, clientY: 140 });
  await pass(150);
  expect(tips()).toEqual([]);
  expect(button('Continue').hasAttribute('aria-describedby')).toBe(false);
});

it('comes at once after another, and not at all when the pointer only passes', async () => {
  point('Continue');
  await pass(400);
  fireEvent.pointerLeave(button('Continue'));
  await pass(110);
  point('Pause');
  await pass(1);
  expect(tips()).toEqual(['Stops']);
  fireEvent.pointerLeave(button('Pause'));
  await pass(1000);
  point('Continue');
  await pass(100);
  fireEvent.pointerLeave(button('Continue'));
  await pass(1000);
  expect(tips()).toEqual([]);
});

it('leaves what it covers to the pointer, and is replaced by its tooltip', async () => {
  point('Continue');
  await pass(400);
  fireEvent.pointerLeave(button('Continue'));
  const tip = screen.getByRole('tooltip', { hidden: true });
  vi.spyOn(tip, 'getBoundingClientRect').mockReturnValue(new DOMRect(0, 0, 200, 20));
  fireEvent.pointerMove(button('Pause'), { clientX: 10, clientY: 10 });
  point('Pause');
  await pass(400);
  expect(tips()).toEqual(['Stops']);
});

it('goes at Escape and when its element is pressed', async () => {
  for (const close of [
    () => fireEvent.keyDown(document.body, { key: 'Escape' }),
    () => fireEvent.pointerDown(button('Continue')),
    () => fireEvent.scroll(document.body),
  ]) {
    point('Continue');
    await pass(400);
    expect(tips()).toHaveLength(1);
    close();
    await pass(0);
    expect(tips()).toEqual([]);
    await pass(1000);
  }
});
