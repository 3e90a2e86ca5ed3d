import type { ServerEvent } from '../api/types';

// This many hits in one batch count as a burst: lists and marks are redrawn with every batch,
// so the next one waits.
const BURST_HITS = 30;
const BURST_MS = 200;
const HIDDEN_PAGE_MS = 50;

function isBurst(events: readonly ServerEvent[]): boolean {
  return events.length >= BURST_HITS && events.filter((event) => event.type === 'hit').length >= BURST_HITS;
}

// Collects events and applies them together, at most once per frame and five times per second
// in a burst. A hidden page has no frames, so it uses a timer.
export class EventBatcher {
  private events: ServerEvent[] = [];
  private scheduled = false;
  // No batch is applied before this time.
  private hold_until = 0;

  constructor(private readonly apply: (events: readonly ServerEvent[]) => void) {}

  add(event: ServerEvent): void {
    this.events.push(event);
    if (this.scheduled) return;
    this.scheduled = true;
    const wait = this.hold_until - performance.now();
    if (wait > 0) setTimeout(this.flush, wait);
    else if (document.hidden) setTimeout(this.flush, HIDDEN_PAGE_MS);
    else requestAnimationFrame(this.flush);
  }

  // Drops the events that have not been applied.
  clear(): void {
    this.events = [];
  }

  private readonly flush = (): void => {
    this.scheduled = false;
    const { events } = this;
    this.events = [];
    if (events.length === 0) return;
    if (isBurst(events)) this.hold_until = performance.now() + BURST_MS;
    this.apply(events);
  };
}
