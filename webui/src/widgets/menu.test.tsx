import { render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { expect, it, vi } from 'vitest';
import { Menu } from './menu';

function show() {
  const chosen = vi.fn();
  const closed = vi.fn();
  const items = [
    { label: 'Continue to here', onChoose: () => chosen('continue') },
    { label: 'Watch', disabledReason: 'The job has ended.', onChoose: () => chosen('watch') },
    { label: 'Copy', onChoose: () => chosen('copy') },
  ];
  render(<Menu label="forward/log" items={items} x={10} y={10} onClose={closed} />);
  return { chosen, closed };
}

it('is walked by arrows and letters, and chosen by Enter', async () => {
  const { chosen, closed } = show();
  expect(document.activeElement?.textContent).toBe('Continue to here');
  await userEvent.keyboard('{ArrowUp}');
  expect(document.activeElement?.textContent).toBe('Copy');
  await userEvent.keyboard('w');
  expect(document.activeElement?.textContent).toContain('Watch');
  await userEvent.keyboard('{Home}{Enter}');
  expect(chosen.mock.calls).toEqual([['continue']]);
  expect(closed).toHaveBeenCalled();
});

it('says why an item cannot be chosen, and does not choose it', async () => {
  const { chosen, closed } = show();
  const watch = screen.getByRole('menuitem', { name: /Watch/ });
  expect(watch.textContent).toContain('The job has ended.');
  await userEvent.click(watch);
  expect(chosen).not.toHaveBeenCalled();
  expect(closed).not.toHaveBeenCalled();
});

it('closes by Escape and by a click elsewhere', async () => {
  const { closed } = show();
  await userEvent.keyboard('{Escape}');
  expect(closed).toHaveBeenCalledTimes(1);
  await userEvent.click(document.body);
  expect(closed).toHaveBeenCalledTimes(2);
});
