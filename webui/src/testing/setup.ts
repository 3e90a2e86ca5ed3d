// Browser APIs that the page needs and jsdom lacks.
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

// Elements have a size, so that virtual lists show some rows.
Object.defineProperties(Element.prototype, {
  clientWidth: { configurable: true, get: () => 400 },
  clientHeight: { configurable: true, get: () => 600 },
});

afterEach(cleanup);
