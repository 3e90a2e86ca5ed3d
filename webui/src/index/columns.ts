// Reads files of packed columns. Those of GET …/graph/index: see proto/docs/graph-index.md.

import * as words from '../words/graph';

const MAGIC = 'GDBGIDX';
const VERSION = 2;

export type Column = Uint32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

interface ColumnHeader {
  type: 'u32' | 'u8';
  offset: number;
  count: number;
  differences?: boolean;
}

interface Header {
  kinds: string[];
  categories: string[];
  columns: Record<string, ColumnHeader>;
}

export interface ColumnFile {
  kinds: string[];
  categories: string[];
  columns: Record<string, Column>;
}

// Replaces differences by running sums, modulo 2^32.
function sumUp(values: Uint32Array): void {
  let sum = 0;
  for (let i = 0; i < values.length; i += 1) {
    sum = (sum + (values[i] as number)) >>> 0;
    values[i] = sum;
  }
}

function columnOf(body: ArrayBuffer, start: number, header: ColumnHeader): Column {
  const begin = start + header.offset;
  const bytes = header.count * (header.type === 'u32' ? 4 : 1);
  if (begin + bytes > body.byteLength) throw new Error(words.indexTruncated);
  if (header.type === 'u8') return new Uint8Array(body, begin, header.count);
  const column = new Uint32Array(body, begin, header.count);
  // In place: the body is not read again.
  if (header.differences) sumUp(column);
  return column;
}

// Returns the header, and where the first column begins. Throws an error whose message can be shown
// to the user if the body is not a file of columns.
export function readHeader<T>(body: ArrayBuffer): { header: T; start: number } {
  const magic = new Uint8Array(body, 0, Math.min(8, body.byteLength));
  const known = magic.length === 8 && String.fromCharCode(...magic.subarray(0, 7)) === MAGIC;
  if (!known) throw new Error(words.notAnIndex);
  if (magic[7] !== VERSION) throw new Error(words.indexVersion(magic[7], VERSION));
  const size = new DataView(body).getUint32(8, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 16, size))) as T;
  return { header, start: 16 + size };
}

export function readColumns(body: ArrayBuffer): ColumnFile {
  const { header, start } = readHeader<Header>(body);
  const columns: Record<string, Column> = {};
  for (const [name, column] of Object.entries(header.columns)) {
    columns[name] = columnOf(body, start, column);
  }
  return { kinds: header.kinds, categories: header.categories, columns };
}
