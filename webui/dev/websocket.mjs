// The parts of RFC 6455 that the development server needs: text frames, close and ping, no
// extensions.
import { createHash } from 'node:crypto';

const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

function frame(opcode, payload) {
  const length = payload.length;
  const head =
    length < 126
      ? Buffer.from([0x80 | opcode, length])
      : length < 65536
        ? Buffer.from([0x80 | opcode, 126, length >> 8, length & 255])
        : Buffer.concat([Buffer.from([0x80 | opcode, 127]), bigLength(length)]);
  return Buffer.concat([head, payload]);
}

function bigLength(length) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(length));
  return bytes;
}

// Reads one frame from the start of `data`; returns null if it is incomplete.
function takeFrame(data) {
  if (data.length < 2) return null;
  let length = data[1] & 127;
  let at = 2;
  if (length === 126) {
    if (data.length < 4) return null;
    length = data.readUInt16BE(2);
    at = 4;
  } else if (length === 127) {
    if (data.length < 10) return null;
    length = Number(data.readBigUInt64BE(2));
    at = 10;
  }
  if (data.length < at + 4 + length) return null;
  const mask = data.subarray(at, at + 4);
  const payload = Buffer.from(data.subarray(at + 4, at + 4 + length));
  for (let i = 0; i < length; i += 1) payload[i] ^= mask[i % 4];
  return { opcode: data[0] & 15, payload, rest: data.subarray(at + 4 + length) };
}

export function acceptWebSocket(request, socket, onText, onClose) {
  const accept = createHash('sha1')
    .update(request.headers['sec-websocket-key'] + MAGIC)
    .digest('base64');
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  let data = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    data = Buffer.concat([data, chunk]);
    for (let next = takeFrame(data); next !== null; next = takeFrame(data)) {
      data = next.rest;
      if (next.opcode === 1) onText(next.payload.toString('utf8'));
      if (next.opcode === 8) socket.end(frame(8, next.payload));
      if (next.opcode === 9) socket.write(frame(10, next.payload));
    }
  });
  socket.on('error', () => socket.destroy());
  socket.on('close', onClose);
  return {
    send: (value) => socket.write(frame(1, Buffer.from(JSON.stringify(value)))),
    close: () => socket.destroy(),
  };
}
