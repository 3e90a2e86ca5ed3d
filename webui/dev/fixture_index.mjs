// Writes the fixture's graph in the format of proto/docs/graph-index.md.
import { gzipSync } from 'node:zlib';

const KINDS = ['scope', 'op', 'parameter', 'buffer', 'constant', 'input', 'aggregate'];
const CATEGORIES = ['other', 'weight', 'gradient', 'activation', 'optimizer'];
const NONE = 0xffffffff;

class Texts {
  numbers = new Map([['', 0]]);
  number(text) {
    if (!this.numbers.has(text)) this.numbers.set(text, this.numbers.size);
    return this.numbers.get(text);
  }
  columns() {
    const bytes = [...this.numbers.keys()].map((text) => Buffer.from(text));
    let end = 0;
    return { string_end: Uint32Array.from(bytes, (text) => (end += text.length)), string_bytes: Uint8Array.from(Buffer.concat(bytes)) };
  }
}

function scopesOf(graph, texts) {
  const numbers = new Map([['', 0]]);
  const rows = [[0, 0, 0]];
  const number = (name) => {
    if (numbers.has(name)) return numbers.get(name);
    const cut = name.lastIndexOf('/');
    const parent = number(cut < 0 ? '' : name.slice(0, cut));
    rows.push([parent, texts.number(name.slice(cut + 1)), texts.number(graph.classes.get(name) ?? '')]);
    numbers.set(name, rows.length - 1);
    return rows.length - 1;
  };
  return { number, rows };
}

// The name of a column's type.
const TYPES = new Map([[Uint8Array, 'u8'], [Uint32Array, 'u32'], [BigUint64Array, 'u64'], [Float64Array, 'f64']]);

export function pack(header, columns) {
  const described = {};
  const parts = [];
  let offset = 0;
  for (const [name, values] of Object.entries(columns)) {
    described[name] = { type: TYPES.get(values.constructor), offset, count: values.length };
    const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
    parts.push(bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8));
    offset += parts.at(-1).length + bytes.length;
  }
  let text = JSON.stringify({ ...header, columns: described });
  while (Buffer.byteLength(text) % 8 !== 0) text += ' ';
  const head = Buffer.alloc(16);
  head.write('GDBGIDX\x02', 'latin1');
  head.writeBigUInt64LE(BigInt(Buffer.byteLength(text)), 8);
  return Buffer.concat([head, Buffer.from(text), ...parts]);
}

const made = new WeakMap();

// Packed once, since the graph never changes.
export function graphIndex(graph) {
  if (!made.has(graph)) made.set(graph, indexOf(graph));
  return made.get(graph);
}

function indexOf(graph) {
  const texts = new Texts();
  const { number, rows } = scopesOf(graph, texts);
  const { nodes } = graph;
  const place = new Map(nodes.map((node, i) => [node.name, i]));
  const each = (value) => nodes.map(value);
  const scopes = each((node) => number(node.name.includes('/') ? node.name.slice(0, node.name.lastIndexOf('/')) : ''));
  const inputs = each((node, to) => node.inputs.map((input) => (to - place.get(input)) >>> 0));
  let end = 0;
  const output = ({ outputs: [first] }) => (first ? texts.number(`${first.dtype}[${first.shape.join(', ')}]`) : 0);
  const columns = {
    scope_parent: Uint32Array.from(rows, (row) => row[0]),
    scope_label: Uint32Array.from(rows, (row) => row[1]),
    scope_type: Uint32Array.from(rows, (row) => row[2]),
    node_scope: Uint32Array.from(scopes),
    node_label: Uint32Array.from(each((node) => texts.number(node.name.slice(node.name.lastIndexOf('/') + 1)))),
    node_kind: Uint8Array.from(each((node) => KINDS.indexOf(node.kind))),
    node_category: Uint8Array.from(each((node) => CATEGORIES.indexOf(node.category))),
    node_op_type: Uint32Array.from(each((node) => texts.number(node.op_type))),
    node_forward: new Uint32Array(nodes.length).fill(NONE),
    node_output: Uint32Array.from(each(output)),
    node_output_count: Uint8Array.from(each((node) => node.outputs.length)),
    node_file: Uint32Array.from(each((node) => texts.number(node.source?.file ?? ''))),
    node_line: Uint32Array.from(each((node) => node.source?.line ?? 0)),
    edge_end: Uint32Array.from(inputs, (list) => (end += list.length)),
    edge_back: Uint32Array.from(inputs.flat()),
    edge_slot: new Uint32Array(end),
    edge_control: new Uint8Array(end),
    execution: Uint32Array.from(nodes.keys()).filter((i) => nodes[i].kind === 'op'),
  };
  const header = { graph: 'main', scope_count: rows.length, node_count: nodes.length, edge_count: end, kinds: KINDS, categories: CATEGORIES };
  return gzipSync(pack(header, { ...columns, ...texts.columns() }));
}
