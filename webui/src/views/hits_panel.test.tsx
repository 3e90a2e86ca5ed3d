import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import { emptyJob } from '../state/job';
import { useJob } from '../state/job_store';
import { matches } from '../state/hits';
import { NO_FILTER, useUi } from '../state/ui';
import { sampleHit, sampleJob } from '../testing/samples';
import { HitsPanel } from './hits_panel';

afterEach(() => {
  cleanup();
  useUi.setState({ hit_filter: NO_FILTER });
});

function showJob(absorbed_hit_count: number): void {
  const hits = [sampleHit({ id: 1, node: 'forward/exp' })];
  for (let i = 0; i < absorbed_hit_count; i += 1) hits.push(sampleHit({ id: i + 2, node: 'forward/log', absorbed: true }));
  const info = sampleJob({ hit_count: 1, absorbed_hit_count, kept_hit_count: hits.length });
  act(() => useJob.setState({ id: 'j', model: { ...emptyJob(), info, hits } }));
}

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
