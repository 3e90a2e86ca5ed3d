import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ServerEvent } from '../api/types';
import { sampleHit } from '../testing/samples';
import { EventBatcher } from './event_batcher';

const graph: ServerEvent = { seq: 1, job: 'j', type: 'graph', node_count: 1 };
const hit = (id: number): ServerEvent => ({ seq: id, job: 'j', type: 'hit', hit: sampleHit({ id }) });

const applied = vi.fn<(events: readonly ServerEvent[]) => void>();

beforeEach(() => {
  vi.useFakeTimers();
  applied.mockReset();
});
afterEach(() => vi.useRealTimers());

it('applies the events of a frame together', () => {
  const batcher = new EventBatcher(applied);
  batcher.add(graph);
  batcher.add(hit(2));
  expect(applied).not.toHaveBeenCalled();
  vi.advanceTimersByTime(20);
  expect(applied.mock.calls).toEqual([[[graph, hit(2)]]]);
});

it('waits after a burst of hits', () => {
  const batcher = new EventBatcher(applied);
  for (let id = 1; id <= 30; id += 1) batcher.add(hit(id));
  vi.advanceTimersByTime(20);
  expect(applied).toHaveBeenCalledOnce();
  batcher.add(hit(31));
  vi.advanceTimersByTime(150);
  expect(applied).toHaveBeenCalledOnce();
  vi.advanceTimersByTime(100);
  expect(applied).toHaveBeenCalledTimes(2);
});

it('drops events that are not applied when it is cleared', () => {
  const batcher = new EventBatcher(applied);
  batcher.add(graph);
  batcher.clear();
  vi.advanceTimersByTime(20);
  expect(applied).not.toHaveBeenCalled();
  batcher.add(hit(2));
  vi.advanceTimersByTime(20);
  expect(applied.mock.calls).toEqual([[[hit(2)]]]);
});
