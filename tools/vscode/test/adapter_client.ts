// A debug session with a real adapter: starts it as VS Code would, and speaks the Debug Adapter
// Protocol with it.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { DebugConfiguration } from 'vscode';
import type { DebugAdapterExecutable } from './vscode';

type Body = Record<string, unknown>;

interface Message {
  type: 'request' | 'response' | 'event';
  seq: number;
  request_seq?: number;
  success?: boolean;
  message?: string;
  command?: string;
  event?: string;
  body?: Body & { error?: { format: string } };
}

const HEADER_END = '\r\n\r\n';
// The job imports PyTorch and trains 80 steps, on a machine that may be busy.
const TIMEOUT_MS = 300_000;

export class AdapterSession {
  readonly id = 'session';
  readonly type = 'graphdbg';
  readonly name: string;
  readonly events: Message[] = [];
  private readonly process: ChildProcessByStdio<Writable, Readable, null>;
  private readonly answers = new Map<number, (message: Message) => void>();
  private ended = false;
  private readonly waiting = new Set<() => void>();
  private seq = 0;
  private received: Buffer = Buffer.alloc(0);

  constructor(
    { command, args, options }: DebugAdapterExecutable,
    readonly configuration: DebugConfiguration,
  ) {
    this.name = configuration.name;
    this.process = spawn(command, args, { ...options, stdio: ['pipe', 'pipe', 'inherit'] });
    this.process.stdout.on('data', (data: Buffer) => this.receive(data));
    this.process.once('exit', () => this.end());
  }

  /** Launches, sets no breakpoints, and returns at the first stop. */
  async start(): Promise<Body> {
    await this.customRequest('initialize', { adapterID: this.type, linesStartAt1: true, columnsStartAt1: true, pathFormat: 'path' });
    const launched = this.customRequest(this.configuration.request, this.configuration);
    await Promise.race([this.event('initialized'), launched]);
    await this.customRequest('configurationDone', {});
    await launched;
    return await this.event('stopped');
  }

  /** Sends a request; returns the body of its response, or throws its message. */
  async customRequest(command: string, body: unknown): Promise<Body> {
    const seq = (this.seq += 1);
    const content = JSON.stringify({ type: 'request', seq, command, arguments: body });
    const answer = new Promise<Message>((resolve) => this.answers.set(seq, resolve));
    this.process.stdin.write(`Content-Length: ${Buffer.byteLength(content)}${HEADER_END}${content}`);
    const response = await answer;
    this.answers.delete(seq);
    if (response.success !== true) throw new Error(response.body?.error?.format ?? response.message);
    return response.body ?? {};
  }

  /** The body of the first event of this name. */
  async event(name: string): Promise<Body> {
    const deadline = setTimeout(() => this.process.kill(), TIMEOUT_MS);
    try {
      for (;;) {
        const found = this.events.find(({ event }) => event === name);
        if (found !== undefined) return found.body ?? {};
        if (this.ended) throw new Error(`no event ${name}: ${JSON.stringify(this.events.slice(-5))}`);
        await new Promise<void>((resolve) => this.waiting.add(resolve));
      }
    } finally {
      clearTimeout(deadline);
    }
  }

  async close(): Promise<void> {
    if (this.ended) return;
    const exited = once(this.process, 'exit');
    await this.customRequest('disconnect', { terminateDebuggee: true });
    this.process.stdin.end();
    await exited;
  }

  private receive(data: Buffer): void {
    this.received = Buffer.concat([this.received, data]);
    for (;;) {
      const end = this.received.indexOf(HEADER_END);
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.received.toString('latin1', 0, end))?.[1]);
      const begin = end + HEADER_END.length;
      if (this.received.length < begin + length) return;
      const message = JSON.parse(this.received.toString('utf8', begin, begin + length)) as Message;
      this.received = this.received.subarray(begin + length);
      this.handle(message);
    }
  }

  private handle(message: Message): void {
    if (message.type === 'event') this.events.push(message);
    if (message.type === 'response') this.answers.get(message.request_seq ?? 0)?.(message);
    this.wake();
  }

  private end(): void {
    this.ended = true;
    const message = 'the adapter has exited';
    for (const answer of this.answers.values()) answer({ type: 'response', seq: 0, success: false, message });
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}
