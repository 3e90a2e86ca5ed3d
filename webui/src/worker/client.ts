// The page's one worker. It is started with the page, so that a graph is on its way
// before the first view is drawn.

import { sameGraph, type FromWorker, type GraphKey, type ToWorker } from './messages';

type Listener = (message: FromWorker) => void;

let worker: Worker | null = null;
const listeners = new Set<Listener>();
// What came before the page listened.
let backlog: FromWorker[] = [];

export function startWorker(): void {
  if (worker !== null || typeof Worker === 'undefined') return;
  worker = new Worker(new URL('./graph.worker.ts', import.meta.url), { type: 'module' });
  worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => {
    if (listeners.size === 0) backlog.push(data);
    for (const listener of listeners) listener(data);
  });
}

export function askWorker(message: ToWorker): void {
  startWorker();
  worker?.postMessage(message);
}

// The graph whose index was asked for before anybody listened.
let early: GraphKey | null = null;

export function loadEarly(of: GraphKey, token: string | null): void {
  early = of;
  askWorker({ type: 'load', of, token });
}

// True once: this graph's index is on its way.
export function takeEarly(of: GraphKey): boolean {
  const taken = early !== null && sameGraph(early, of);
  early = null;
  return taken;
}

// Until the returned call.
export function onWorker(listener: Listener): () => void {
  listeners.add(listener);
  const missed = backlog;
  backlog = [];
  for (const message of missed) queueMicrotask(() => listener(message));
  return () => void listeners.delete(listener);
}
