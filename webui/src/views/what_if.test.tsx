import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { WhatIf as Found } from '../api/types';
import { emptyJob } from '../state/job';
import { useJob } from '../state/job_store';
import { sampleHit, sampleJob } from '../testing/samples';
import { WhatIf } from './what_if';

const FOUND: Found = {
  node: 'forward/log',
  slot: 0,
  rank: 0,
  step: 3,
  level: 'op',
  why_not_step: null,
  conclusion: 'the precision or the range of the type is the cause',
  outcomes: [
    {
      experiment: 'float64',
      title: 'the op in float64',
      fails: false,
      same_bits: null,
      bad_count: 0,
      count: 4,
      text: '0 of 4 elements are not finite',
      milliseconds: 1,
    },
  ],
};

let bodies: unknown[] = [];

beforeEach(() => {
  bodies = [];
  vi.stubGlobal('fetch', async (_: string, { body }: RequestInit) => {
    bodies.push(JSON.parse(String(body)));
    return Response.json(FOUND);
  });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const hit = sampleHit({ id: 5, node: 'forward/log', step: 3, rank: 0, slot: 0 });

function show(step: number): void {
  useJob.setState({ id: 'j', model: { ...emptyJob(), info: sampleJob({ state: 'paused', step }), hits: [hit] } });
  render(<WhatIf hit={hit} />);
}

it('shows what the outcomes mean', async () => {
  show(3);
  fireEvent.click(screen.getByRole('button', { name: 'What if…' }));
  const table = await screen.findByRole('table', { name: 'Outcomes' });
  expect(table.textContent).toContain('the op in float64does not fail0 of 4 elements are not finite');
  expect(screen.getByRole('region').textContent).toContain('The precision or the range of the type is the cause.');
  expect(bodies).toEqual([{ hit: 5, experiments: [] }]);
});

it('repeats the step as it was', async () => {
  show(3);
  fireEvent.click(screen.getByRole('button', { name: 'Replay step' }));
  await screen.findByRole('table');
  expect(bodies).toEqual([{ hit: 5, experiments: ['as_it_was'] }]);
});

it('is absent when the step of the hit is over', () => {
  show(4);
  expect(screen.queryByRole('region')).toBeNull();
});
