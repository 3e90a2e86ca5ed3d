import { QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Hit, TensorSummary } from '../api/types';
import { emptyJob } from '../state/job';
import { useJob } from '../state/job_store';
import { createQueryClient } from '../state/queries';
import { sampleHit, sampleJob } from '../testing/samples';
import { TensorAdvice } from './tensor_advice';

const TENSOR = { name: 'forward/log:0', node: 'forward/log', slot: 0 } as TensorSummary;

let asked: string[] = [];

beforeEach(() => {
  asked = [];
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    return Response.json({ causes: ['The logarithm of zero.', 'A division.'], next: ['Look at the inputs.'] });
  });
});
afterEach(() => vi.unstubAllGlobals());

function show(hits: Hit[], world_size = 1) {
  useJob.setState({ id: 'j', connection: 'live', model: { ...emptyJob(), info: sampleJob({ world_size }), hits } });
  render(
    <QueryClientProvider client={createQueryClient()}>
      <TensorAdvice tensor={TENSOR} />
    </QueryClientProvider>,
  );
}

it('lists the causes of the newest hit of the tensor, for its op and dtype', async () => {
  const hit = { node: 'forward/log', slot: 0, op_type: 'aten::log', dtype: 'float16', condition: 'inf' };
  show([
    sampleHit({ ...hit, id: 1, step: 3 }),
    sampleHit({ ...hit, id: 2, step: 5 }),
    sampleHit({ ...hit, id: 3, step: 6, node: 'forward/mm', condition: 'nan' }),
  ]);
  const causes = within(await screen.findByRole('region', { name: 'Likely causes' }));
  expect(causes.getAllByRole('listitem').map((each) => each.textContent)).toEqual(['The logarithm of zero.', 'A division.']);
  expect(within(screen.getByRole('region', { name: 'What to look at next' })).getByText('Look at the inputs.')).not.toBeNull();
  expect(screen.getByText(/in step 5/)).not.toBeNull();
  expect(asked).toEqual(['/api/v1/conditions/inf/advice?op_type=aten%3A%3Alog&dtype=float16']);
});

it('asks for nothing while the tensor has no hit', () => {
  show([sampleHit({ node: 'forward/mm' })]);
  expect(screen.getByText('No hit of this tensor')).not.toBeNull();
  expect(asked).toEqual([]);
});

it('names the rank and the op that sent a NaN', async () => {
  const statistics = { count: 6, nan_count: 2, pos_inf_count: 0, neg_inf_count: 0 } as Hit['statistics'];
  const hit = sampleHit({ node: 'forward/log', slot: 0, step: 5, rank: 0, statistics });
  const source = { file: '/home/x/train.py', line: 57, text: 'torch.sqrt(x)', function: 'main' };
  const sender = { rank: 2, node: 'forward/sqrt', slot: 0, collective: 'backward/0/allreduce_', source };
  vi.stubGlobal('fetch', async (url: string) =>
    Response.json(url.includes('/hits') ? { hits: [{ ...hit, sent_by: sender }], next_cursor: null } : { causes: [], next: [] }),
  );
  show([hit], 3);
  expect(await screen.findByText(/From rank 2, through backward\/0\/allreduce_:/)).not.toBeNull();
  expect(screen.getByText('forward/sqrt:0 (train.py:57 torch.sqrt(x))')).not.toBeNull();
});
