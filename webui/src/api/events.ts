// The event stream: connects, authenticates and subscribes. After a lost connection it resumes after
// the last event received.

import { tokenStore } from './token';
import type { ServerEvent } from './types';

export type Connection = 'connecting' | 'live' | 'lost';

export interface StreamHandlers {
  onEvent(event: ServerEvent): void;
  onConnection(connection: Connection, attempt: number): void;
  // The server closed the connection before it was ready: the token may be invalid.
  onRefused(): void;
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5000;

export function retryDelay(attempt: number): number {
  return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.max(0, attempt - 1));
}

function addressOf(place: Location): string {
  const scheme = place.protocol === 'https:' ? 'wss:' : 'ws:';
  return `${scheme}//${place.host}/api/v1/events`;
}

// One subscription. `job` is an id, or "*" for all jobs.
export class EventStream {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private attempt = 0;
  private last_seq: number | null = null;
  private ready = false;
  private closed = false;

  constructor(
    private readonly job: string,
    private readonly handlers: StreamHandlers,
  ) {
    this.open();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  // Reconnects immediately instead of after the delay.
  retryNow(): void {
    if (this.closed || this.socket !== null) return;
    clearTimeout(this.timer);
    this.open();
  }

  private open(): void {
    this.ready = false;
    const socket = new WebSocket(addressOf(window.location));
    this.socket = socket;
    socket.addEventListener('open', () => {
      const token = tokenStore.read();
      socket.send(JSON.stringify({ token: token ?? '' }));
    });
    socket.addEventListener('message', (message) => this.receive(socket, String(message.data)));
    socket.addEventListener('close', () => this.lose(socket));
  }

  private receive(socket: WebSocket, text: string): void {
    const message = JSON.parse(text) as ServerEvent | { type: 'ready' } | { type: 'error' };
    if (message.type === 'ready') {
      this.ready = true;
      this.attempt = 0;
      const after = this.last_seq === null || this.job === '*' ? {} : { after: this.last_seq };
      socket.send(JSON.stringify({ subscribe: { job: this.job, ...after } }));
      this.handlers.onConnection('live', 0);
      return;
    }
    if (message.type === 'error') return;
    // Events of the server itself are not part of the job's sequence.
    if (this.job !== '*' && message.type !== 'server') this.last_seq = message.seq;
    this.handlers.onEvent(message);
  }

  private lose(socket: WebSocket): void {
    if (this.closed || this.socket !== socket) return;
    this.socket = null;
    this.attempt += 1;
    this.handlers.onConnection('lost', this.attempt);
    if (!this.ready) this.handlers.onRefused();
    this.timer = setTimeout(() => this.open(), retryDelay(this.attempt));
  }
}
