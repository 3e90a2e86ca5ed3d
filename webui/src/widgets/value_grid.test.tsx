import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { decodeElements } from '../base/elements';
import { parseSlice } from '../base/slice';
import { gridOf } from './grid_data';
import { ValueGrid } from './value_grid';

const ELEMENTS = decodeElements(
  'float32',
  new Float32Array([1, NaN, -2.5, -Infinity, 0, Infinity]).buffer,
)!;

function show(active: number) {
  const parsed = parseSlice('[:, :]', [2, 3]);
  const onActive = vi.fn();
  render(
    <ValueGrid
      grid={gridOf(ELEMENTS, [2, 3])}
      axes={parsed.ok ? parsed.axes : []}
      label="Values"
      active={active}
      onActive={onActive}
    />,
  );
  return { grid: screen.getByRole('grid'), onActive };
}

it('shows values, and signs for those that are not finite', () => {
  show(0);
  const cells = screen.getAllByRole('gridcell').map((cell) => cell.textContent);
  expect(cells).toEqual(['1', '✕ NaN', '-2.5', '▼ -Inf', '0', '▲ Inf']);
});

it('moves by keys and stays within the slice', () => {
  const { grid, onActive } = show(1);
  const keys = ['ArrowRight', 'ArrowLeft', 'ArrowDown', 'ArrowUp', 'Home', 'End', 'PageDown'];
  for (const key of keys) fireEvent.keyDown(grid, { key });
  expect(onActive.mock.calls.map(([cell]) => cell)).toEqual([2, 0, 4, 1, 0, 2, 4]);
});
