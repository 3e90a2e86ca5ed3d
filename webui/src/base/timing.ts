// User Timing marks that tests and developers read: see the contract of the page.

// Calls back after the next frame was painted: in the task after it, or, where keys that
// go on being pressed keep that waiting, with the frame after it.
export function afterPaint(done: () => void): void {
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    let told = false;
    const tell = () => {
      channel.port1.close();
      if (!told) done();
      told = true;
    };
    channel.port1.addEventListener('message', tell);
    channel.port1.start();
    channel.port2.postMessage(null);
    requestAnimationFrame(tell);
  });
}

let firstGraphMarked = false;
let tellFirstGraph: () => void = () => {};

// Resolved when the first graph of this navigation has been painted.
export const firstGraph = new Promise<void>((done) => {
  tellFirstGraph = done;
});

// Once per navigation.
export function markFirstGraph(): void {
  if (firstGraphMarked) return;
  firstGraphMarked = true;
  afterPaint(() => {
    performance.mark('graphdbg:first-graph');
    tellFirstGraph();
  });
}

export type Measure = 'graphdbg:expand' | 'graphdbg:search' | 'graphdbg:slice';

// From a slice's last byte to its paint, whoever asked for it.
export const SLICE_PAINT = 'graphdbg:slice-paint';

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
  measureToPaint(name, start);
}

// Measures from a moment in the past, in ms since navigation, to the next paint.
export function measureToPaint(name: Measure | typeof SLICE_PAINT, start: number): void {
  afterPaint(() => performance.measure(name, { start, end: performance.now() }));
}
