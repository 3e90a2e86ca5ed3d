import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EventStream, retryDelay } from './events';
import { tokenStore } from './token';

// A socket that the test opens, feeds and breaks.
class WireSocket extends EventTarget {
  static all: WireSocket[] = [];
  sent: unknown[] = [];
  constructor(readonly url: string) {
    super();
    WireSocket.all.push(this);
  }
  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }
  close(): void {}
  receive(message: unknown): void {
    this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(message) }));
  }
  fire(type: 'open' | 'close'): void {
    this.dispatchEvent(new Event(type));
  }
}

const last = () => WireSocket.all.at(-1) as WireSocket;
const handlers = { onEvent: vi.fn(), onConnection: vi.fn(), onRefused: vi.fn() };

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', WireSocket);
  WireSocket.all = [];
  for (const handler of Object.values(handlers)) handler.mockReset();
  tokenStore.write('t');
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  tokenStore.write(null);
});

function live(job: string): EventStream {
  const stream = new EventStream(job, handlers);
  last().fire('open');
  last().receive({ type: 'ready' });
  return stream;
}

it('says who it is, then what it wants', () => {
  live('j');
  expect(last().sent).toEqual([{ token: 't' }, { subscribe: { job: 'j' } }]);
  expect(handlers.onConnection).toHaveBeenLastCalledWith('live', 0);
});

it('resumes behind the last event after a break', () => {
  live('j');
  last().receive({ seq: 41, type: 'graph', job: 'j', node_count: 3 });
  last().fire('close');
  expect(handlers.onConnection).toHaveBeenLastCalledWith('lost', 1);
  vi.advanceTimersByTime(retryDelay(1));
  last().fire('open');
  last().receive({ type: 'ready' });
  expect(last().sent.at(-1)).toEqual({ subscribe: { job: 'j', after: 41 } });
  expect(handlers.onRefused).not.toHaveBeenCalled();
});

it('does not count events of the server itself', () => {
  live('j');
  last().receive({ seq: 41, type: 'graph', job: 'j', node_count: 3 });
  last().receive({ seq: 0, type: 'server', job: '', storage: null });
  expect(handlers.onEvent).toHaveBeenCalledTimes(2);
  last().fire('close');
  vi.advanceTimersByTime(retryDelay(1));
  last().fire('open');
  last().receive({ type: 'ready' });
  expect(last().sent.at(-1)).toEqual({ subscribe: { job: 'j', after: 41 } });
});

it('asks for all jobs anew, since they share no sequence', () => {
  live('*');
  last().receive({ seq: 7, type: 'state', job: 'j', info: null });
  last().fire('close');
  vi.advanceTimersByTime(retryDelay(1));
  last().fire('open');
  last().receive({ type: 'ready' });
  expect(last().sent.at(-1)).toEqual({ subscribe: { job: '*' } });
});

it('tells of a close before it was ready', () => {
  const stream = new EventStream('j', handlers);
  last().fire('close');
  expect(handlers.onRefused).toHaveBeenCalledOnce();
  stream.close();
});

it('tries at once when it is told to, and only once', () => {
  const stream = live('j');
  last().fire('close');
  stream.retryNow();
  stream.retryNow();
  expect(WireSocket.all).toHaveLength(2);
  vi.advanceTimersByTime(60_000);
  expect(WireSocket.all).toHaveLength(2);
});

it('stays silent once it is closed', () => {
  const stream = live('j');
  stream.close();
  last().fire('close');
  vi.advanceTimersByTime(60_000);
  expect(WireSocket.all).toHaveLength(1);
});

it('waits longer each time, up to five seconds', () => {
  expect([1, 2, 3, 9].map(retryDelay)).toEqual([250, 500, 1000, 5000]);
});
