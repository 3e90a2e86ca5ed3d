import { beforeEach, expect, it, vi } from 'vitest';
import type { FromWorker } from './messages';

class FakeWorker extends EventTarget {
  static all: FakeWorker[] = [];
  readonly posted: unknown[] = [];
  constructor() {
    super();
    FakeWorker.all.push(this);
  }
  postMessage(message: unknown): void {
    this.posted.push(message);
  }
  answer(message: FromWorker): void {
    this.dispatchEvent(new MessageEvent('message', { data: message }));
  }
}

const key = { job: 'j', graph: null };
const same: FromWorker = { type: 'same', key };

beforeEach(() => {
  vi.resetModules();
  vi.stubGlobal('Worker', FakeWorker);
  FakeWorker.all = [];
});

it('starts one worker, with the first message', async () => {
  const { graphWorker } = await import('./client');
  expect(FakeWorker.all).toHaveLength(0);
  graphWorker.post({ type: 'search', id: 1, text: 'a' });
  graphWorker.post({ type: 'search', id: 2, text: 'b' });
  expect(FakeWorker.all.map(({ posted }) => posted.length)).toEqual([2]);
});

it('keeps messages for the first listener', async () => {
  const { graphWorker } = await import('./client');
  graphWorker.loadEarly(key, null);
  FakeWorker.all[0]?.answer(same);
  const [first, second] = [vi.fn(), vi.fn()];
  const unsubscribe = graphWorker.subscribe(first);
  graphWorker.subscribe(second);
  await Promise.resolve();
  expect(first).toHaveBeenCalledExactlyOnceWith(same);
  expect(second).not.toHaveBeenCalled();
  unsubscribe();
  FakeWorker.all[0]?.answer(same);
  expect(first).toHaveBeenCalledOnce();
  expect(second).toHaveBeenCalledOnce();
});

it('reports an early request once, and only for its graph', async () => {
  const { graphWorker } = await import('./client');
  graphWorker.loadEarly(key, null);
  expect(graphWorker.takeEarly(key)).toBe(true);
  expect(graphWorker.takeEarly(key)).toBe(false);
  graphWorker.loadEarly(key, null);
  expect(graphWorker.takeEarly({ job: 'other', graph: null })).toBe(false);
});
