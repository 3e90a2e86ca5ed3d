import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { sampleJob } from '../testing/samples';
import { Ranks } from './ranks';
import { RankGrid } from './rank_grid';

const PATIENT = { timeout: 10_000 };

function jobOf(count: number) {
  const [first] = sampleJob().ranks;
  const ranks = Array.from({ length: count }, (_, rank) => ({
    ...first!,
    rank,
    state: rank === 70 ? ('lost' as const) : ('running' as const),
    step: rank === 30 ? 4 : 5,
  }));
  return sampleJob({ ranks, world_size: count, state: 'running', rank_states: { running: count - 1, lost: 1 } });
}

it('shows the ranks that differ first, and colours by what is chosen', () => {
  const onChoose = vi.fn<(rank: number) => void>();
  const { container } = render(
    <RankGrid
      job={jobOf(100)}
      hits={new Map()}
      current={0}
      chosen={0}
      onChoose={onChoose}
      textOf={({ rank }) => `Rank ${rank}`}
    />,
  );
  const tiles = () => [...container.querySelectorAll<HTMLElement>('.rank-tile')];
  expect(tiles()).toHaveLength(100);
  expect(tiles().slice(0, 3).map((each) => each.title)).toEqual(['Rank 70', 'Rank 30', 'Rank 0']);
  expect(tiles()[0]?.className).toContain('rank-lost');
  fireEvent.click(tiles()[1]!);
  expect(onChoose).toHaveBeenCalledWith(30);
  fireEvent.change(screen.getByLabelText('Colour by'), { target: { value: 'step' } });
  expect(tiles()[0]?.className).not.toContain('rank-lost');
  expect(tiles()[1]?.style.getPropertyValue('--share')).toBe('0%');
  fireEvent.click(screen.getByLabelText('Outliers first'));
  expect(tiles()[1]?.title).toBe('Rank 1');
});

it('opens the panel of a rank', async () => {
  render(<Ranks job={jobOf(100)} />);
  fireEvent.click(screen.getByText('Rank', { exact: false }));
  fireEvent.click(await screen.findByTitle(/^Rank 70, /, undefined, PATIENT));
  expect(screen.getByText('Switch to rank 70')).toBeTruthy();
});
