// User Timing marks and measures, read by tests and developers. Their names are part of the
// page's contract.

// Calls back after the next frame is painted: in the task that follows it, or with the frame
// after it if a held key keeps that task waiting.
export function afterPaint(callback: () => void): void {
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    let called = false;
    const callOnce = () => {
      channel.port1.close();
      if (!called) callback();
      called = true;
    };
    channel.port1.addEventListener('message', callOnce);
    channel.port1.start();
    channel.port2.postMessage(null);
    requestAnimationFrame(callOnce);
  });
}

// The first graph of this navigation.
class FirstGraph {
  // Resolved after the graph is painted.
  readonly painted: Promise<void>;
  private resolve: () => void = () => {};
  private marked = false;

  constructor() {
    this.painted = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  // Called with every drawing of a graph; only the first call has an effect.
  mark(): void {
    if (this.marked) return;
    this.marked = true;
    afterPaint(() => {
      performance.mark('graphdbg:first-graph');
      this.resolve();
    });
  }
}

export const firstGraph = new FirstGraph();

export type Measure = 'graphdbg:expand' | 'graphdbg:search' | 'graphdbg:slice' | 'graphdbg:overview';

// From the last byte of a slice to its paint, whatever requested it.
export const SLICE_PAINT = 'graphdbg:slice-paint';
// From the last byte of the overview to its paint.
export const OVERVIEW_PAINT = 'graphdbg:overview-paint';

const started = new Map<Measure, number>();

// Starts a measure at an input. A later input of the same kind restarts it.
export function beginMeasure(name: Measure): void {
  started.set(name, performance.now());
}

// Ends the measure, if one was started, at the next paint.
export function endMeasure(name: Measure): void {
  const start = started.get(name);
  if (start === undefined) return;
  started.delete(name);
  measureToPaint(name, start);
}

// Measures from `start`, in ms since navigation, to the next paint.
export function measureToPaint(name: Measure | typeof SLICE_PAINT | typeof OVERVIEW_PAINT, start: number): void {
  afterPaint(() => performance.measure(name, { start, end: performance.now() }));
}
