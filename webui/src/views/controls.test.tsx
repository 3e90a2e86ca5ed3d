import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ServerEvent } from '../api/types';
import { reduceEvents } from '../state/job';
import { useJob } from '../state/job_store';
import { emptyJob } from '../state/job';
import { parseRoute } from '../state/route';
import { chooseRank } from '../state/command_ranks';
import { navigate, selectedRank } from '../state/router';
import { useToasts } from '../state/toasts';
import { sampleJob } from '../testing/samples';
import { Controls } from './controls';

const fetched = vi.fn<typeof fetch>();

function put(change: Parameters<typeof sampleJob>[0], more: object = {}): void {
  const event: ServerEvent = { seq: 1, type: 'state', job: 'j', info: sampleJob(change), ...more };
  useJob.setState(({ model }) => ({ model: reduceEvents(model, [event]) }));
}

function show(): void {
  render(<Controls />);
}

function bodies(): unknown[] {
  return fetched.mock.calls.map(([, options]) => JSON.parse(String(options?.body)) as unknown);
}

// Parts that are loaded when they are needed take long on a busy machine.
const PATIENT = { timeout: 10_000 };

const button = (name: string) => screen.getByRole('button', { name });

beforeEach(() => {
  fetched.mockReset();
  fetched.mockImplementation(async () => Response.json({ command_id: 'c1' }, { status: 202 }));
  vi.stubGlobal('fetch', fetched);
  HTMLDialogElement.prototype.showModal = function showModal() {
    this.open = true;
  };
  HTMLDialogElement.prototype.close = function close() {
    this.open = false;
    this.dispatchEvent(new Event('close'));
  };
  useJob.setState({ id: 'j', model: emptyJob(), connection: 'live', pending: null });
  useToasts.setState({ toasts: [] });
  chooseRank('', 'step', null);
});
afterEach(() => vi.unstubAllGlobals());

describe('buttons', () => {
  it('fit the state and say why they cannot be used', () => {
    put({ state: 'running' });
    show();
    expect(button('Continue').getAttribute('aria-disabled')).toBe('true');
    expect(button('Continue').getAttribute('aria-description')).toContain('running');
    expect(button('Pause').getAttribute('aria-disabled')).toBeNull();
    expect(button('Recheck').getAttribute('aria-description')).toContain('running');
  });

  it('move one op on the rank that is shown, if there are several', () => {
    const [rank] = sampleJob().ranks;
    const ranks = [0, 1].map((number) => ({ ...rank!, rank: number, state: number === 1 ? ('paused' as const) : ('running' as const) }));
    const reason = 'this command needs a single rank';
    const change = { state: 'running', world_size: 2, ranks, unsupported_commands: { next_node: reason } } as const;
    put({ ...change, ranks });
    navigate(parseRoute('#/jobs/j?rank=1'));
    show();
    expect(button('Next node').textContent).toBe('Next node· rank 1');
    fireEvent.click(button('Next node'));
    expect(bodies()).toEqual([{ command: 'next_node', rank: 1 }]);
    expect(button('Step').getAttribute('aria-disabled')).toBe('true');
  });

  it('move a rank that the page does not show', async () => {
    const [rank] = sampleJob().ranks;
    const ranks = [0, 1, 2].map((number) => ({ ...rank!, rank: number, state: number === 2 ? ('lost' as const) : ('paused' as const) }));
    put({ world_size: 3, ranks });
    navigate(parseRoute('#/jobs/j?rank=0'));
    show();
    fireEvent.click(await screen.findByRole('button', { name: 'Rank of Next node' }, PATIENT));
    expect(screen.getByRole('menuitemradio', { name: /rank shown/ }).getAttribute('aria-checked')).toBe('true');
    expect(screen.getByRole('menuitemradio', { name: /^Rank 2/ }).getAttribute('aria-disabled')).toBe('true');
    fireEvent.click(screen.getByRole('menuitemradio', { name: /^Rank 1/ }));
    fireEvent.click(button('Next node'));
    expect(bodies()).toEqual([{ command: 'next_node', rank: 1 }]);
    expect(selectedRank()).toBe(0);
    expect(button('Step').textContent).toBe('Step· all ranks');
  });

  it('step one rank alone where the user asks for that', async () => {
    const [rank] = sampleJob().ranks;
    put({ world_size: 2, ranks: [0, 1].map((number) => ({ ...rank!, rank: number })) });
    show();
    fireEvent.click(await screen.findByRole('button', { name: 'Rank of Step' }, PATIENT));
    fireEvent.click(screen.getByRole('menuitemradio', { name: /^Rank 1/ }));
    fireEvent.keyDown(window, { key: 'F10' });
    expect(bodies()).toEqual([{ command: 'step', steps: 1, rank: 1 }]);
  });

  it('continue the ranks that have stopped while others run', () => {
    const [rank] = sampleJob().ranks;
    const ranks = [0, 1].map((number) => ({ ...rank!, rank: number, state: number === 1 ? ('paused' as const) : ('running' as const) }));
    put({ state: 'running', world_size: 2, ranks });
    show();
    expect(screen.getByRole('toolbar').textContent).toContain('Paused: rank 1. Running, up to the next collective op: rank 0.');
    fireEvent.click(button('Continue'));
    expect(bodies()).toEqual([{ command: 'continue' }]);
  });

  it('say why the rank that is shown cannot move', () => {
    const [rank] = sampleJob().ranks;
    const ranks = [0, 1].map((number) => ({ ...rank!, rank: number, state: number === 1 ? ('paused' as const) : ('running' as const) }));
    put({ state: 'running', world_size: 2, ranks });
    navigate(parseRoute('#/jobs/j?rank=0'));
    show();
    expect(button('Next node').getAttribute('aria-description')).toContain('running');
  });

  it('recheck what has changed since the stop', () => {
    put({ unchecked_watchpoints: [1] });
    show();
    fireEvent.click(button('Recheck'));
    expect(bodies()).toEqual([{ command: 'recheck' }]);
  });

  it('that cannot be used send nothing', () => {
    put({ state: 'running' });
    show();
    fireEvent.click(button('Continue'));
    fireEvent.keyDown(window, { key: 'F10' });
    expect(fetched).not.toHaveBeenCalled();
  });

  it('step as often as asked, and not by nonsense', () => {
    put({});
    show();
    const count = screen.getByLabelText('Number of steps');
    fireEvent.change(count, { target: { value: '0' } });
    expect(button('Step').getAttribute('aria-disabled')).toBe('true');
    fireEvent.change(count, { target: { value: '25' } });
    fireEvent.click(button('Step'));
    expect(bodies()).toEqual([{ command: 'step', steps: 25 }]);
  });
});

describe('a command', () => {
  it('is pending until the job confirms it', async () => {
    put({});
    show();
    fireEvent.click(button('Continue'));
    expect(button('Continue').getAttribute('aria-busy')).toBe('true');
    await waitFor(() => expect(useJob.getState().pending?.command_id).toBe('c1'));
    expect(button('Step').getAttribute('aria-disabled')).toBe('true');
  });

  it('whose outcome overtakes its answer is not pending for ever', async () => {
    put({});
    fetched.mockImplementation(async () => {
      put({ state: 'running' }, { command_id: 'c1' });
      return Response.json({ command_id: 'c1' }, { status: 202 });
    });
    show();
    fireEvent.click(button('Continue'));
    await waitFor(() => expect(useJob.getState().pending).toBeNull());
  });

  it('that is refused says so and leaves the buttons as they were', async () => {
    put({});
    fetched.mockImplementation(async () =>
      Response.json({ detail: 'the job has ended', code: 'invalid_state' }, { status: 409 }),
    );
    show();
    fireEvent.click(button('Continue'));
    await waitFor(() =>
      expect(useToasts.getState().toasts[0]).toMatchObject({ detail: 'the job has ended' }),
    );
    expect(button('Continue').getAttribute('aria-disabled')).toBeNull();
  });
});

describe('keys', () => {
  it('are those of other debuggers, and do not reload the page', () => {
    put({});
    show();
    const event = new KeyboardEvent('keydown', { key: 'F5', cancelable: true });
    fireEvent(window, event);
    expect(event.defaultPrevented).toBe(true);
    expect(bodies()).toEqual([{ command: 'continue' }]);
  });

  it('ask before they end the job', () => {
    put({});
    show();
    fireEvent.keyDown(window, { key: 'F5', shiftKey: true });
    expect(fetched).not.toHaveBeenCalled();
    fireEvent.click(screen.getByRole('button', { name: 'Terminate job' }));
    expect(bodies()).toEqual([{ command: 'terminate' }]);
  });
});
