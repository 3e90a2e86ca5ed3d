// User Timing marks that tests and developers read: see the contract of the page.

// Calls back after the next frame was painted.
export function afterPaint(done: () => void): void {
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.addEventListener('message', () => {
      channel.port1.close();
      done();
    });
    channel.port1.start();
    channel.port2.postMessage(null);
  });
}

let firstGraphMarked = false;

// Once per navigation.
export function markFirstGraph(): void {
  if (firstGraphMarked) return;
  firstGraphMarked = true;
  afterPaint(() => performance.mark('graphdbg:first-graph'));
}

export type Measure = 'graphdbg:expand' | 'graphdbg:search' | 'graphdbg:slice';

const started = new Map<Measure, number>();

// An input begins a measure; a later input of the same kind begins it anew.
export function beginMeasure(name: Measure): void {
  started.set(name, performance.now());
}

// What the input asked for has been handed to the browser: ends the measure at its paint.
export function endMeasure(name: Measure): void {
  const start = started.get(name);
  if (start === undefined) return;
  started.delete(name);
  afterPaint(() => performance.measure(name, { start, end: performance.now() }));
}
