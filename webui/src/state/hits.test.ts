import { afterEach, describe, expect, it, vi } from 'vitest';
import { sampleHit, sampleJob } from '../testing/samples';
import { firstHitOfStop, hitToBundle, linesOf, loadHits, matches, originOfStop, stoppingHit } from './hits';
import { emptyJob } from './job';
import { useJob } from './job_store';
import { NO_FILTER } from './ui';

afterEach(() => vi.unstubAllGlobals());

describe('hits', () => {
  it('that only the server has are asked for with the whole filter', async () => {
    const fetched = vi.fn<typeof fetch>(async () =>
      Response.json({ hits: [sampleHit({ id: 9, node: 'forward/fc/addmm' })], next_cursor: null }),
    );
    vi.stubGlobal('fetch', fetched);
    useJob.setState({ id: 'j', model: emptyJob() });
    await loadHits({ watchpoint: 2, rank: 1, step: 5, node: 'forward/fc', origins: false, absorbed: false });
    const { searchParams } = new URL(String(fetched.mock.calls[0]?.[0]), 'http://server');
    expect(Object.fromEntries(searchParams)).toMatchObject({ watchpoint: '2', rank: '1', step: '5', node: 'forward/fc' });
    expect(useJob.getState().model.hits.map(({ id }) => id)).toEqual([9]);
  });

  it('have a bundle while the job is paused in their step', () => {
    const hits = [sampleHit({ id: 1, step: 4 }), sampleHit({ id: 2, step: 5 }), sampleHit({ id: 3, step: 5, rank: 1 })];
    const { node, slot } = sampleHit({});
    const at = (state: 'paused' | 'running', rank: number, name = `${node}:${slot}`) =>
      hitToBundle({ info: sampleJob({ state, step: 5 }), hits }, name, rank)?.id;
    expect(at('paused', 0)).toBe(2);
    expect(at('paused', 1)).toBe(3);
    expect(at('paused', 2)).toBeUndefined();
    expect(at('paused', 0, `${node}:9`)).toBeUndefined();
    expect(at('running', 0)).toBeUndefined();
  });

  it('are grouped by step, each step with its number of hits', () => {
    const hits = [1, 1, 2].map((step, i) => sampleHit({ id: i + 1, step }));
    expect(linesOf(hits).map((line) => (line.kind === 'step' ? [line.step, line.count] : line.hit.id))).toEqual([
      [1, 2],
      1,
      2,
      [2, 1],
      3,
    ]);
    expect(linesOf([])).toEqual([]);
  });

  it('are filtered by each of watchpoint, rank, step and origin', () => {
    const hit = sampleHit({ watchpoint: 2, rank: 1, step: 5, origin: 'propagated' });
    expect(matches(hit, NO_FILTER)).toBe(true);
    expect(matches(hit, { watchpoint: 2, rank: 1, step: 5, node: null, origins: false, absorbed: false })).toBe(true);
    for (const change of [{ watchpoint: 1 }, { rank: 0 }, { step: 4 }, { node: 'forw' }, { origins: true }]) {
      expect(matches(hit, { ...NO_FILTER, ...change })).toBe(false);
    }
    expect(matches(sampleHit({ node: 'forward/log' }), { ...NO_FILTER, node: 'forward' })).toBe(true);
    // Absorbed hits are listed apart.
    const absorbed = sampleHit({ absorbed: true });
    expect(matches(absorbed, NO_FILTER)).toBe(false);
    expect(matches(absorbed, { ...NO_FILTER, absorbed: true })).toBe(true);
    expect(matches(sampleHit(), { ...NO_FILTER, absorbed: true })).toBe(false);
    // A hit of unknown origin is not hidden.
    expect(matches(sampleHit({ origin: 'unknown' }), { ...NO_FILTER, origins: true })).toBe(true);
  });

  it('are told apart by which of them stopped the job', () => {
    const stop = { state: 'paused', pause_reason: 'watchpoint', step: 2, stopped_by: [7] } as const;
    const hits = [
      sampleHit({ id: 1, step: 1, watchpoint: 7, node: 'a' }),
      sampleHit({ id: 2, step: 2, watchpoint: 8, node: 'a' }),
      sampleHit({ id: 3, step: 2, watchpoint: 7, node: 'a' }),
      sampleHit({ id: 4, step: 2, watchpoint: 7, node: 'b' }),
    ];
    const at = (changes: Parameters<typeof sampleJob>[0]) => ({ info: sampleJob({ ...stop, stopped_by: [7], ...changes }), hits });
    expect(stoppingHit(at({ node: 'b' }))?.id).toBe(4);
    expect(stoppingHit(at({ node: '' }))).toBeNull();
    // An infinity stops the job at its reader, c.
    expect(stoppingHit(at({ node: 'c' }))?.id).toBe(3);
    expect(firstHitOfStop(at({ node: '' }))?.id).toBe(3);
    expect(firstHitOfStop(at({ node: '', pause_reason: 'user' }))).toBeNull();
  });

  it('lead from where the job is paused to where the trouble began', () => {
    const info = sampleJob({ state: 'paused', pause_reason: 'watchpoint', step: 2, stopped_by: [7], node: 'sum' });
    const hit = (id: number, change: Parameters<typeof sampleHit>[0]) =>
      sampleHit({ id, step: 2, watchpoint: 7, order: 10 * id, ...change });
    const exp = hit(1, { node: 'exp', origin: 'origin' });
    const log = hit(2, { node: 'log', origin: 'origin' });
    const sum = hit(3, { node: 'sum', origin: 'propagated' });
    const of = (...hits: ReturnType<typeof sampleHit>[]) => originOfStop({ info, hits })?.node;
    expect(of(exp, log, sum)).toBe('log');
    // On another rank, whose values it has received.
    expect(of({ ...exp, rank: 1 }, sum)).toBe('exp');
    expect(of({ ...exp, step: 1 }, sum)).toBe('sum');
    expect(of(exp, { ...sum, origin: 'origin' })).toBe('sum');
    // Another rank has sent it, unless this one has had one before.
    expect(of({ ...exp, rank: 1 }, { ...sum, origin: 'origin' })).toBe('exp');
    expect(of({ ...exp, rank: 1 }, log, { ...sum, origin: 'origin' })).toBe('sum');
    expect(of(exp, { ...sum, params: { propagated: 'stop' } })).toBe('sum');
  });
});
