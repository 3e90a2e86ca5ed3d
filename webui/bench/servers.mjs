// Servers of the benchmark: the real server with synthetic jobs, and, for page development, a server
// of dist/ that forwards all other requests to it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const ROOT = join(import.meta.dirname, '../..');
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2' };

async function firstLine(child) {
  let text = '';
  while (!text.includes('\n')) {
    const [chunk] = await once(child.stdout, 'data');
    text += chunk;
  }
  return text.slice(0, text.indexOf('\n'));
}

export class Servers {
  #children = [];
  #folder = mkdtempSync(join(tmpdir(), 'graphdbg-bench-'));
  #debugger = '';
  address = '';

  // The server, with one job per graph, paused after its first step.
  async start(graphs) {
    const command = join(ROOT, '.venv/bin/graphdbg');
    const args = ['start', '--json', '--no-auth', '--port=0', '--debugger-port=0', `--data-dir=${this.#folder}`];
    const server = this.#spawn(command, args, {});
    const { http_address, debugger_address } = JSON.parse(await firstLine(server));
    this.address = http_address;
    this.#debugger = debugger_address;
    for (const graph of graphs) await firstLine(this.#job('synthetic_job.py', graph, '0', [graph]));
    return this.address;
  }

  // A PyTorch job, paused before its first step.
  async startTraining(name) {
    this.#job('page_job.py', name, '1');
    await this.until(name, ({ state }) => state === 'paused');
  }

  // Polling is fine because nothing is measured here.
  async until(name, is) {
    for (;;) {
      const reply = await fetch(`${this.address}/api/v1/jobs/${name}`);
      if (reply.ok && is(await reply.json())) return;
      await new Promise((done) => setTimeout(done, 100));
    }
  }

  async post(path, body) {
    const headers = { 'Content-Type': 'application/json' };
    const reply = await fetch(`${this.address}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!reply.ok) throw new Error(`${path}: ${await reply.text()}`);
  }

  #job(script, name, wait, args = []) {
    return this.#spawn(join(ROOT, '.venv/bin/python'), [join(ROOT, 'tools/bench', script), ...args], {
      GRAPHDBG_ENABLE: '1',
      GRAPHDBG_PORT: this.#debugger.split(':').at(-1),
      GRAPHDBG_TOKEN_FILE: join(this.#folder, 'agent_token'),
      GRAPHDBG_JOB: name,
      GRAPHDBG_WAIT: wait,
    });
  }

  #spawn(command, args, environment) {
    const child = spawn(command, args, { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.push(child);
    return child;
  }

  stop() {
    for (const child of this.#children) child.kill('SIGTERM');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

// Serves dist/ with the same compression as the server, and forwards all else to `backend`.
export async function servePage(backend) {
  const target = new URL(backend);
  const packed = new Map();
  const server = createServer((incoming, answer) => {
    const path = new URL(incoming.url, 'http://x').pathname;
    const file = join(ROOT, 'webui/dist', path === '/' ? 'index.html' : path);
    if (!path.startsWith('/api') && existsSync(file)) {
      if (!packed.has(file)) packed.set(file, gzipSync(readFileSync(file)));
      answer.writeHead(200, {
        'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream',
        'Content-Encoding': 'gzip',
        // The same as in server/http/guard.cc.
        'Content-Security-Policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; " +
          "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      });
      answer.end(packed.get(file));
      return;
    }
    const headers = { ...incoming.headers, host: target.host, origin: target.origin };
    const onward = request({ host: target.hostname, port: target.port, path: incoming.url, method: incoming.method, headers });
    onward.on('response', (reply) => {
      answer.writeHead(reply.statusCode, reply.headers);
      reply.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    incoming.pipe(onward);
  });
  server.on('upgrade', (incoming, socket, head) => {
    const onward = connect(Number(target.port), target.hostname, () => {
      const headers = { ...incoming.headers, host: target.host, origin: target.origin };
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      onward.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    const close = () => {
      onward.destroy();
      socket.destroy();
    };
    for (const end of [onward, socket]) end.on('error', close).on('close', close);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
