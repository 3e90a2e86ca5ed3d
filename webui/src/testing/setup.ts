// What jsdom lacks and the page needs.
import { cleanup } from '@testing-library/react';
import { afterEach } from 'vitest';

class StillObserver {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}

globalThis.ResizeObserver ??= StillObserver as unknown as typeof ResizeObserver;
window.matchMedia ??= (query: string) =>
  ({
    matches: false,
    media: query,
    addEventListener: () => {},
    removeEventListener: () => {},
  }) as unknown as MediaQueryList;

// Virtual lists show what fits: let something fit.
Object.defineProperties(Element.prototype, {
  clientWidth: { configurable: true, get: () => 400 },
  clientHeight: { configurable: true, get: () => 600 },
});

afterEach(cleanup);
