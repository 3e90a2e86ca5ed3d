import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { sampleNode, sampleScope, sampleView } from '../testing/samples';
import { Tree } from './tree';
import { buildRows } from './tree_rows';

const VIEWS = new Map([
  ['', sampleView('', [sampleScope('forward', 2)])],
  [
    'forward',
    sampleView('forward', [
      sampleNode('forward/exp', { hit_count: 2 }),
      sampleNode('forward/<b>log</b>', { watched: 'all', label: '<b>log</b>' }),
    ]),
  ],
]);

function show(selected: string | null = null) {
  const onSelect = vi.fn();
  const onToggle = vi.fn();
  render(
    <Tree
      rows={buildRows(new Set(['forward']), VIEWS, new Map())}
      label="Nodes"
      selected={selected}
      current="forward/exp"
      hits={new Map()}
      onSelect={onSelect}
      onToggle={onToggle}
    />,
  );
  return { tree: screen.getByRole('tree'), onSelect, onToggle };
}

it('names its items by label and tells level, place, state and marks', () => {
  show('forward/exp');
  const item = screen.getByRole('treeitem', { name: 'exp' });
  expect(item.getAttribute('aria-level')).toBe('2');
  expect(item.getAttribute('aria-setsize')).toBe('2');
  expect(item.getAttribute('aria-selected')).toBe('true');
  expect(item.getAttribute('aria-description')).toBe('current node, 2 hits');
  expect(screen.getByRole('treeitem', { name: 'forward' }).getAttribute('aria-expanded')).toBe('true');
});

it('has tick boxes where nodes are chosen, by click and by Space', () => {
  const onTick = vi.fn();
  render(
    <Tree
      rows={buildRows(new Set(['forward']), VIEWS, new Map())}
      label="Nodes"
      selected="forward/exp"
      current={null}
      hits={new Map()}
      ticks={{ at: (name) => (name === 'forward' ? 'some' : name === 'forward/exp' ? 'all' : 'none') }}
      onTick={onTick}
      onSelect={vi.fn()}
      onToggle={vi.fn()}
    />,
  );
  const checked = screen.getAllByRole('treeitem').map((item) => item.getAttribute('aria-checked'));
  expect(checked).toEqual(['mixed', 'true', 'false']);
  fireEvent.keyDown(screen.getByRole('tree'), { key: ' ' });
  expect(onTick).toHaveBeenCalledWith(expect.objectContaining({ name: 'forward/exp' }));
  const box = screen.getByRole('treeitem', { name: 'forward' }).querySelector('.tree-tick') as Element;
  fireEvent.click(box);
  expect(onTick).toHaveBeenLastCalledWith(expect.objectContaining({ name: 'forward' }));
});

it('shows names from a job as text, never as markup', () => {
  show();
  expect(screen.getByRole('treeitem', { name: '<b>log</b>' }).querySelector('b')).toBeNull();
});

it('goes by keys: one tab stop, focus moves, Enter selects, arrows open and close', () => {
  const { tree, onSelect, onToggle } = show();
  fireEvent.keyDown(tree, { key: 'ArrowDown' });
  const active = document.getElementById(tree.getAttribute('aria-activedescendant') ?? '');
  expect(active?.getAttribute('aria-label')).toBe('exp');
  expect(onSelect).not.toHaveBeenCalled();
  fireEvent.keyDown(tree, { key: 'Enter' });
  expect(onSelect).toHaveBeenCalledWith('forward/exp');
  fireEvent.keyDown(tree, { key: 'ArrowLeft' });
  fireEvent.keyDown(tree, { key: 'ArrowLeft' });
  expect(onToggle).toHaveBeenCalledWith('forward');
});

it('selects by a click and toggles by a double click', () => {
  const { onSelect, onToggle } = show();
  fireEvent.click(screen.getByRole('treeitem', { name: 'exp' }));
  expect(onSelect).toHaveBeenCalledWith('forward/exp');
  fireEvent.doubleClick(screen.getByRole('treeitem', { name: 'forward' }));
  expect(onToggle).toHaveBeenCalledWith('forward');
});

it('has the rows in view alone, in their order, and the one with the focus', () => {
  const names = Array.from({ length: 500 }, (_, i) => sampleNode(`op_${i}`));
  render(
    <Tree
      rows={buildRows(new Set(), new Map([['', sampleView('', names)]]), new Map())}
      label="Nodes"
      selected="op_3"
      current={null}
      hits={new Map()}
      onSelect={vi.fn()}
      onToggle={vi.fn()}
    />,
  );
  const tree = screen.getByRole('tree');
  const scrollTo = (row: number) => {
    tree.scrollTop = row * 24;
    fireEvent.scroll(tree);
    return screen.getAllByRole('treeitem').map((item) => Number(item.getAttribute('aria-posinset')) - 1);
  };
  for (const row of [100, 103, 98, 400, 0]) {
    const shown = scrollTo(row);
    expect(shown).toContain(row);
    expect(shown).toContain(3);
    expect(shown.length).toBeLessThan(60);
    expect(shown).toEqual(shown.toSorted((a, b) => a - b));
    expect(document.getElementById(tree.getAttribute('aria-activedescendant') ?? '')?.getAttribute('aria-label')).toBe('op_3');
  }
});
