import { QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createQueryClient } from '../state/queries';
import { TreePanel } from './tree_panel';

beforeEach(() => {
  vi.stubGlobal('fetch', async () => Response.json({ graphs: [] }));
  render(
    <QueryClientProvider client={createQueryClient()}>
      <TreePanel />
      <input aria-label="text" />
      <input aria-label="tick" type="checkbox" />
      <select aria-label="choice" />
      <div aria-label="greedy" tabIndex={0} onKeyDown={(event) => event.stopPropagation()} />
    </QueryClientProvider>,
  );
});
afterEach(() => vi.unstubAllGlobals());

function press(label: string): Element | null {
  const from = screen.getByLabelText(label);
  from.focus();
  fireEvent.keyDown(from, { key: '/' });
  return document.activeElement;
}

it('the slash leads to the search from everywhere', () => {
  for (const label of ['tick', 'choice', 'greedy', 'Open all scopes']) {
    expect(press(label), label).toBe(screen.getByRole('searchbox'));
  }
});

it('in a text field it is a character', () => {
  const field = screen.getByLabelText('text');
  expect(press('text')).toBe(field);
});
