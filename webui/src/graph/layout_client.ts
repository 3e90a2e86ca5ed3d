// Asks the worker for layouts; only the newest question is answered.

import type { LayoutAnswer, LayoutRequest } from './layout_types';

export class LayoutClient {
  private readonly worker = new Worker(new URL('./layout.worker.ts', import.meta.url), {
    type: 'module',
  });
  private newest = 0;

  constructor(onAnswer: (answer: LayoutAnswer) => void) {
    this.worker.addEventListener('message', (message: MessageEvent<LayoutAnswer>) => {
      if (message.data.id === this.newest) onAnswer(message.data);
    });
  }

  // The id of the question.
  ask(scopes: LayoutRequest['scopes']): number {
    this.newest += 1;
    this.worker.postMessage({ id: this.newest, scopes } satisfies LayoutRequest);
    return this.newest;
  }

  close(): void {
    this.worker.terminate();
  }
}
