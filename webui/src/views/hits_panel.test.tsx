import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { api } from '../api/client';
import { emptyJob, reduceJob } from '../state/job';
import { useJob } from '../state/job_store';
import { matches } from '../state/hits';
import { NO_FILTER, useUi } from '../state/ui';
import { sampleHit, sampleJob } from '../testing/samples';
import { HitsPanel } from './hits_panel';

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  useUi.setState({ hit_filter: NO_FILTER });
});

function showJob(absorbed_hit_count: number): void {
  const hits = [sampleHit({ id: 1, node: 'forward/exp' })];
  for (let i = 0; i < absorbed_hit_count; i += 1) hits.push(sampleHit({ id: i + 2, node: 'forward/log', absorbed: true }));
  const info = sampleJob({ hit_count: 1, absorbed_hit_count, kept_hit_count: hits.length });
  act(() => useJob.setState({ id: 'j', model: { ...emptyJob(), info, hits } }));
}

describe('findings of rules', () => {
  const finding = {
    rule: 'replicas',
    rank: null,
    tensor: 'forward/fc/weight:0',
    mode: null,
    step: 5,
    values: {},
    message: 'hi - lo > 1e-6',
  };

  it('are listed once there are some, and loaded again when an event reports more', async () => {
    const answers = [
      { findings: [], total: 0 },
      { findings: [finding], total: 7 },
    ];
    const load = vi.spyOn(api, 'findings').mockImplementation(() => Promise.resolve(answers[load.mock.calls.length - 1]!));
    showJob(0);
    render(<HitsPanel />);
    await act(() => Promise.resolve());
    expect(screen.queryByRole('tab', { name: /Findings/ })).toBeNull();

    const { model } = useJob.getState();
    act(() => useJob.setState({ model: reduceJob(model, { seq: 1, job: 'j', type: 'finding', finding }) }));
    fireEvent.click(await screen.findByRole('tab', { name: /Findings/ }));
    expect(await screen.findByText('replicas')).toBeTruthy();
    expect(screen.getByText('Newest 1 of 7 findings')).toBeTruthy();
    expect(useJob.getState().model.journal.at(-1)?.text).toBe('Rule replicas, step 5: hi - lo > 1e-6');
    expect(useJob.getState().model.journal.at(-1)?.place).toEqual({ node: 'forward/fc/weight' });
  });
});

describe('absorbed hits', () => {
  it('are not counted with the others', () => {
    showJob(2);
    render(<HitsPanel />);
    expect(screen.getByText('1 hits')).toBeTruthy();
  });

  it('are listed apart, when asked for', () => {
    showJob(2);
    render(<HitsPanel />);
    fireEvent.click(screen.getByLabelText('2 absorbed'));
    const filter = useUi.getState().hit_filter;
    expect(useJob.getState().model.hits.filter((hit) => matches(hit, filter)).map(({ id }) => id)).toEqual([2, 3]);
  });

  it('need no filter where there are none', () => {
    showJob(0);
    render(<HitsPanel />);
    expect(screen.queryByLabelText(/absorbed/)).toBeNull();
  });
});
