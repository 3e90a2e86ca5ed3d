// The page's one worker. It is started with the page, so that a graph is on its way
// before the first view is drawn.

import type { FromWorker, ToWorker } from './messages';

type Listener = (message: FromWorker) => void;

let worker: Worker | null = null;
const listeners = new Set<Listener>();

export function startWorker(): void {
  if (worker !== null || typeof Worker === 'undefined') return;
  worker = new Worker(new URL('./graph.worker.ts', import.meta.url), { type: 'module' });
  worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => {
    for (const listener of listeners) listener(data);
  });
}

export function askWorker(message: ToWorker): void {
  startWorker();
  worker?.postMessage(message);
}

// Until the returned call.
export function onWorker(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
