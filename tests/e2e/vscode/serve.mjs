// Serves the workbench, a Python file, and the debug adapter on a WebSocket:
// serve.mjs ADAPTER FILE prints its address.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { WebSocketServer } from 'ws';

const TYPES = { '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };
const HEADER_END = '\r\n\r\n';

const [adapter, path] = process.argv.slice(2);

function answer(request, response) {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (pathname === '/file') {
    response.end(JSON.stringify({ path, text: readFileSync(path, 'utf8') }));
    return;
  }
  const file = join(import.meta.dirname, 'dist', pathname === '/' ? 'index.html' : pathname);
  if (existsSync(file)) response.setHeader('Content-Type', TYPES[extname(file)] ?? 'application/octet-stream');
  else response.statusCode = 404;
  response.end(existsSync(file) ? readFileSync(file) : '');
}

// Calls `use` with each message of a stream.
function readMessages(stream, use) {
  let received = Buffer.alloc(0);
  stream.on('data', (data) => {
    received = Buffer.concat([received, data]);
    for (;;) {
      const end = received.indexOf(HEADER_END);
      if (end < 0) return;
      const begin = end + HEADER_END.length;
      const length = Number(/Content-Length: (\d+)/.exec(received.toString('latin1', 0, end))?.[1]);
      if (received.length < begin + length) return;
      use(received.toString('utf8', begin, begin + length));
      received = received.subarray(begin + length);
    }
  });
}

function connect(socket) {
  const { stdin, stdout } = spawn(adapter, ['dap'], { stdio: ['pipe', 'pipe', 'inherit'] }).on('exit', () => socket.close());
  readMessages(stdout, (message) => socket.send(message));
  // A Buffer, whose length is in bytes.
  socket.on('message', (message) => stdin.write(`Content-Length: ${message.length}${HEADER_END}${message}`));
  // The adapter ends its job and its server, and then itself.
  socket.on('close', () => stdin.end());
}

const server = createServer(answer);
new WebSocketServer({ server, path: '/dap' }).on('connection', connect);
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
