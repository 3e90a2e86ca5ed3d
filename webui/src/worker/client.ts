import { sameGraph, type FromWorker, type GraphKey, type ToWorker } from './messages';

type Listener = (message: FromWorker) => void;

// The page's one worker. It is started before the page's scripts have loaded, so that the
// first graph is on its way before the first view is drawn.
class GraphWorker {
  private worker: Worker | null = null;
  private readonly listeners = new Set<Listener>();
  // Messages that arrived before the first listener.
  private backlog: FromWorker[] = [];
  // The graph requested by loadEarly(), until takeEarly().
  private early: GraphKey | null = null;

  post(message: ToWorker): void {
    this.start();
    this.worker?.postMessage(message);
  }

  // Requests the index of a graph before anything subscribes to the answer.
  loadEarly(key: GraphKey, token: string | null): void {
    this.early = key;
    this.post({ type: 'load', key, token });
  }

  // Returns whether loadEarly() requested the index of this graph; true at most once.
  takeEarly(key: GraphKey): boolean {
    const { early } = this;
    this.early = null;
    return early !== null && sameGraph(early, key);
  }

  // Returns a function that ends the subscription. The first listener also receives the
  // messages that arrived before it subscribed.
  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    const missed = this.backlog;
    this.backlog = [];
    for (const message of missed) queueMicrotask(() => listener(message));
    return () => void this.listeners.delete(listener);
  }

  private start(): void {
    if (this.worker !== null || typeof Worker === 'undefined') return;
    this.worker = new Worker(new URL('./graph.worker.ts', import.meta.url), { type: 'module' });
    this.worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => {
      if (this.listeners.size === 0) this.backlog.push(data);
      for (const listener of this.listeners) listener(data);
    });
  }
}

export const graphWorker = new GraphWorker();
