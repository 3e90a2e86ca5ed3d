import { QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { NodeDetail } from '../api/types';
import { emptyJob } from '../state/job';
import { useJob } from '../state/job_store';
import { createQueryClient } from '../state/queries';
import { parseRoute } from '../state/route';
import { navigate, useRouter } from '../state/router';
import { useUi } from '../state/ui';
import { sampleDiagnosis, sampleHit, sampleJob } from '../testing/samples';
import { DiagnosisCard } from './diagnosis_card';

let asked: string[] = [];
let answer = sampleDiagnosis();

beforeEach(() => {
  asked = [];
  answer = sampleDiagnosis();
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    return Response.json(answer);
  });
  navigate(parseRoute('#/jobs/j'));
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  useUi.setState({ hit: null });
});

function show(): void {
  const hits = [
    sampleHit({ id: 1, node: 'forward/mul', rank: 0 }),
    sampleHit({ id: 2, node: 'forward/mul', rank: 1 }),
    sampleHit({ id: 3, node: 'forward/log' }),
  ];
  useJob.setState({ id: 'j', model: { ...emptyJob(), info: sampleJob(), hits } });
  render(
    <QueryClientProvider client={createQueryClient()}>
      <DiagnosisCard node={{ name: 'forward/mul' } as NodeDetail} rank={0} />
    </QueryClientProvider>,
  );
}

it('says what happened and what to try', async () => {
  show();
  const card = await screen.findByRole('region', { name: 'Likely cause' });
  expect(card.textContent).toContain('Overflow in float16 Input reaches 12,032; × 8 = 96,256 > 65,504.');
  expect(card.textContent).toContain('Try: Compute it in bfloat16.');
  expect(asked).toEqual(['/api/v1/jobs/j/hits/1/diagnosis']);
});

it('leads to the evidence', async () => {
  show();
  fireEvent.click(await screen.findByRole('button', { name: 'Input over steps' }));
  const { route } = useRouter.getState();
  expect(route.view === 'job' && route.route).toMatchObject({ node: 'forward/h', slot: '2', rank: 1, panel: 'history' });
});

it('is about the hit that the user went to', async () => {
  useUi.setState({ hit: 2 });
  show();
  await screen.findByRole('region', { name: 'Likely cause' });
  expect(asked).toEqual(['/api/v1/jobs/j/hits/2/diagnosis']);
});

it('is absent where no rule explains the hit', async () => {
  answer = sampleDiagnosis({ rule: null, title: null, text: null });
  show();
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  await Promise.resolve();
  expect(screen.queryByRole('region')).toBeNull();
});
