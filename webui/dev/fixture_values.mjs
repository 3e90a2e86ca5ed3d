// Values that resemble training: small reproducible noise, and from a certain step on the
// infinities that a hand-written log(softmax(x)) produces.

export const BREAK_STEP = 3;

function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}

// A uniform number in [0, 1) that depends only on the arguments.
function noise(seed, i) {
  let x = (seed + Math.imul(i + 1, 0x9e3779b9)) >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b) >>> 0;
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35) >>> 0;
  return ((x ^ (x >>> 16)) >>> 0) / 4294967296;
}

function gauss(seed, i) {
  return noise(seed, 3 * i) + noise(seed, 3 * i + 1) + noise(seed, 3 * i + 2) - 1.5;
}

export function valueAt(node, step, i) {
  const seed = hash(`${node.name}@${step}`);
  const label = node.name.slice(node.name.lastIndexOf('/') + 1).replace(/_\d+$/, '');
  if (node.outputs[0].dtype === 'int64') return Math.floor(noise(seed, i) * 10);
  const broken = step >= BREAK_STEP;
  if (label === '_softmax') return broken && noise(seed, i) < 0.08 ? 0 : noise(seed, i) ** 6;
  if (label === 'log' && broken && noise(seed, i) < 0.08) return -Infinity;
  if (label === 'log') return -noise(seed, i) * 20;
  if (broken && (label === 'mean' || label === 'neg')) return label === 'mean' ? -Infinity : Infinity;
  const after = node.name.startsWith('backward/') || node.name.startsWith('optimizer/');
  if (broken && after && noise(seed, i) < 0.3) return NaN;
  if (label === 'relu' || label === 'max_pool2d') return Math.max(0, gauss(seed, i) * 1.4);
  const size = after ? 0.004 : node.kind === 'parameter' ? 0.2 : 1;
  return gauss(seed, i) * size;
}

export function statisticsOf(node, step) {
  const count = node.outputs[0].shape.reduce((a, b) => a * b, 1);
  const s = { count, nan_count: 0, pos_inf_count: 0, neg_inf_count: 0, zero_count: 0, negative_count: 0, positive_count: 0 };
  const looked = Math.min(count, 4096);
  let [min, max, sum, l1, squares, finite] = [Infinity, -Infinity, 0, 0, 0, 0];
  for (let i = 0; i < looked; i += 1) {
    const v = valueAt(node, step, i);
    if (Number.isNaN(v)) s.nan_count += 1;
    else if (v === Infinity) s.pos_inf_count += 1;
    else if (v === -Infinity) s.neg_inf_count += 1;
    else {
      s.zero_count += v === 0 ? 1 : 0;
      s.negative_count += v < 0 ? 1 : 0;
      s.positive_count += v > 0 ? 1 : 0;
      [min, max, sum, l1, squares, finite] = [Math.min(min, v), Math.max(max, v), sum + v, l1 + Math.abs(v), squares + v * v, finite + 1];
    }
  }
  const none = finite === 0;
  const mean = none ? null : sum / finite;
  return {
    ...s,
    min: none ? null : min,
    max: none ? null : max,
    mean,
    abs_mean: none ? null : l1 / finite,
    abs_max: none ? null : Math.max(Math.abs(min), Math.abs(max)),
    variance: none ? null : squares / finite - mean * mean,
    l1: none ? null : l1,
    l2: none ? null : Math.sqrt(squares),
  };
}

export function jsonNumber(v) {
  if (Number.isNaN(v)) return 'NaN';
  if (v === Infinity) return 'Infinity';
  return v === -Infinity ? '-Infinity' : v;
}

// Parses a NumPy slice into axes of {start, step, count, dropped}. Throws an error with a
// message if it is invalid.
export function parseAxes(text, shape) {
  let items = text.replace(/^\s*\[|\]\s*$/g, '').split(',').map((t) => t.trim()).filter((t) => t !== '');
  const dots = items.indexOf('...');
  const fill = Array(Math.max(0, shape.length - items.filter((t) => t !== '...').length)).fill(':');
  items = dots >= 0 ? [...items.slice(0, dots), ...fill, ...items.slice(dots + 1)] : [...items, ...fill];
  if (items.length > shape.length) throw new Error(`too many indices for a tensor with ${shape.length} axes`);
  return items.map((item, axis) => {
    const size = shape[axis];
    if (/^-?\d+$/.test(item)) {
      const index = Number(item) < 0 ? Number(item) + size : Number(item);
      if (index < 0 || index >= size) throw new Error(`index ${item} is out of bounds for axis ${axis} with size ${size}`);
      return { start: index, step: 1, count: 1, dropped: true };
    }
    if (!/^(-?\d*)(:-?\d*){1,2}$/.test(item)) throw new Error(`"${item}" is not an index or a range`);
    const [from, to, by] = item.split(':').map((t) => (t === '' || t === undefined ? null : Number(t)));
    const step = by ?? 1;
    const place = (bound) => Math.min(Math.max(bound < 0 ? bound + size : bound, 0), size);
    const start = from === null ? (step > 0 ? 0 : size - 1) : place(from);
    const stop = to === null ? (step > 0 ? size : -1) : place(to);
    return { start, step, count: Math.max(0, Math.ceil((stop - start) / step)), dropped: false };
  });
}

// The elements of a slice as numbers, in row-major order.
export function elementsOf(node, step, axes) {
  return nestedSlice(node, step, axes, (v) => v);
}

function bytesOf(dtype, values) {
  if (dtype === 'int64') return BigInt64Array.from(values, BigInt);
  return Float32Array.from(values);
}

export function binarySlice(node, step, axes) {
  const values = [elementsOf(node, step, axes)].flat(Infinity);
  return Buffer.from(bytesOf(node.outputs[0].dtype, values).buffer);
}

// Same as numpy.histogram.
export function histogramOf(values, bins) {
  const finite = values.filter(Number.isFinite);
  const counted = { nan_count: 0, pos_inf_count: 0, neg_inf_count: 0 };
  for (const v of values) {
    if (Number.isNaN(v)) counted.nan_count += 1;
    else if (v === Infinity) counted.pos_inf_count += 1;
    else if (v === -Infinity) counted.neg_inf_count += 1;
  }
  if (finite.length === 0) return { edges: [], counts: [], ...counted };
  let [low, high] = [Math.min(...finite), Math.max(...finite)];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const edges = Array.from({ length: bins + 1 }, (_, i) => low + ((high - low) * i) / bins);
  const counts = Array(bins).fill(0);
  for (const v of finite) counts[Math.min(bins - 1, Math.floor(((v - low) / (high - low)) * bins))] += 1;
  return { edges, counts, ...counted };
}

// Same as numpy.allclose with equal_nan, plus figures of the difference.
export function comparisonOf(left, right, shape, rtol, atol) {
  const r = { count: left.length, not_close_count: 0, non_finite_count: 0, max_abs_difference: null, mean_abs_difference: null, max_relative_difference: null, cosine: null, first_not_close: null };
  let [sum, most, relative, ab, aa, bb] = [0, 0, 0, 0, 0, 0];
  left.forEach((a, i) => {
    const b = right[i];
    const finite = Number.isFinite(a) && Number.isFinite(b);
    const close = finite ? Math.abs(a - b) <= atol + rtol * Math.abs(b) : Object.is(a, b);
    if (!close) {
      r.not_close_count += 1;
      r.first_not_close ??= { index: indexOf(i, shape), left: jsonNumber(a), right: jsonNumber(b) };
    }
    if (!finite) return (r.non_finite_count += 1);
    const difference = Math.abs(a - b);
    [sum, most, relative] = [sum + difference, Math.max(most, difference), Math.max(relative, b === 0 ? 0 : difference / Math.abs(b))];
    return ([ab, aa, bb] = [ab + a * b, aa + a * a, bb + b * b]);
  });
  const finite = r.count - r.non_finite_count;
  if (finite > 0) Object.assign(r, { max_abs_difference: most, mean_abs_difference: sum / finite, max_relative_difference: relative, cosine: aa * bb > 0 ? ab / Math.sqrt(aa * bb) : null });
  return { ...r, all_close: r.not_close_count === 0 };
}

function indexOf(place, shape) {
  const index = [];
  for (const size of shape.toReversed()) {
    index.unshift(place % size);
    place = Math.floor(place / size);
  }
  return index;
}

export function nestedSlice(node, step, axes, write = jsonNumber) {
  const shape = node.outputs[0].shape;
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
  const take = (axis, offset) => {
    if (axis === axes.length) return write(valueAt(node, step, offset));
    const { start, step: by, count, dropped } = axes[axis];
    const at = (k) => take(axis + 1, offset + (start + k * by) * strides[axis]);
    return dropped ? at(0) : Array.from({ length: count }, (_, k) => at(k));
  };
  return take(0, 0);
}
