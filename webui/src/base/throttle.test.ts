import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { throttle } from './throttle';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('acts at once, then once more for all calls within the interval', () => {
  const action = vi.fn();
  const throttled = throttle(action, 100);
  throttled();
  throttled();
  throttled();
  expect(action).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(100);
  expect(action).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(1000);
  expect(action).toHaveBeenCalledTimes(2);
});

it('forgets what was asked for when it is cancelled', () => {
  const action = vi.fn();
  const throttled = throttle(action, 100);
  throttled();
  throttled();
  throttled.cancel();
  vi.advanceTimersByTime(1000);
  expect(action).toHaveBeenCalledTimes(1);
});
