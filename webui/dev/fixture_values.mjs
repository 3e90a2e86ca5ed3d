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

const finiteOf = (values) => values.filter(Number.isFinite);

// Same as numpy.histogram.
export function histogramOf(values, bins, range = finiteOf(values)) {
  const counted = { nan_count: 0, pos_inf_count: 0, neg_inf_count: 0 };
  for (const v of values) {
    if (Number.isNaN(v)) counted.nan_count += 1;
    else if (v === Infinity) counted.pos_inf_count += 1;
    else if (v === -Infinity) counted.neg_inf_count += 1;
  }
  if (range.length === 0) return { edges: [], counts: [], ...counted };
  let [low, high] = [Math.min(...range), Math.max(...range)];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const edges = Array.from({ length: bins + 1 }, (_, i) => low + ((high - low) * i) / bins);
  const counts = Array(bins).fill(0);
  for (const v of finiteOf(values)) counts[Math.min(bins - 1, Math.floor(((v - low) / (high - low)) * bins))] += 1;
  return { edges, counts, ...counted };
}

// Both sides over their common range, and the difference of finite pairs.
export function histogramsOf(left, right, bins) {
  const range = finiteOf([...left, ...right]);
  const difference = finiteOf(left.map((value, i) => value - right[i]));
  return { left: histogramOf(left, bins, range), right: histogramOf(right, bins, range), difference: histogramOf(difference, bins) };
}

// Reduces rows and columns to at most so many blocks: the number with the largest magnitude,
// minimum, maximum, mean, and how many are not finite.
export function blocksOf(values, shape, most_rows, most_columns) {
  const columns = shape.length === 1 ? Math.ceil(Math.sqrt(values.length)) : (shape.at(-1) ?? 1);
  const rows = columns === 0 ? 0 : Math.ceil(values.length / columns);
  const block = [Math.ceil(rows / most_rows), Math.ceil(columns / most_columns)];
  const blocks = [Math.ceil(rows / block[0]) || 0, Math.ceil(columns / block[1]) || 0];
  const members = Array.from({ length: blocks[0] * blocks[1] }, () => []);
  values.forEach((value, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    members[Math.floor(row / block[0]) * blocks[1] + Math.floor(column / block[1])].push(value);
  });
  const extreme = (all) => all.reduce((most, v) => (Number.isNaN(v) || Math.abs(v) > Math.abs(most) ? v : most), 0);
  const of = (measure) => members.map((all) => (finiteOf(all).length === 0 ? NaN : measure(finiteOf(all))));
  const mean = (all) => all.reduce((sum, v) => sum + v, 0) / all.length;
  const planes = [members.map(extreme), of((all) => Math.min(...all)), of((all) => Math.max(...all)), of(mean), members.map((all) => all.length - finiteOf(all).length)];
  return { grid: [rows, columns], block, blocks, planes };
}

const float = new DataView(new ArrayBuffer(4));

// The position of a number among those of float32.
function ordinalOf(value) {
  float.setFloat32(0, value);
  const bits = float.getUint32(0);
  return bits >= 0x8000_0000 ? 0x8000_0000 - bits : bits;
}

// The distance of two float32 numbers in units in the last place.
export const ulpsBetween = (a, b) => Math.abs(ordinalOf(a) - ordinalOf(b));

// Same as numpy.allclose with equal_nan, plus figures of the difference.
export function comparisonOf(left, right, shape, { rtol, atol, list }) {
  const pairOf = (i) => ({ index: indexOf(i, shape), left: jsonNumber(left[i]), right: jsonNumber(right[i]) });
  const finite = [];
  const far = [];
  const r = { count: left.length, equal_count: 0, left_nan_count: 0, right_nan_count: 0, both_nan_count: 0 };
  left.forEach((a, i) => {
    const b = right[i];
    const is_finite = Number.isFinite(a) && Number.isFinite(b);
    const equal = a === b || Object.is(a, b);
    if (equal) r.equal_count += 1;
    if (Number.isNaN(a)) r.left_nan_count += 1;
    if (Number.isNaN(b)) r.right_nan_count += 1;
    if (Number.isNaN(a) && Number.isNaN(b)) r.both_nan_count += 1;
    if (!equal && !(is_finite && Math.abs(a - b) <= atol + rtol * Math.abs(b))) far.push(i);
    if (is_finite) finite.push({ i, a, b, difference: a - b, ulps: ulpsBetween(a, b) });
  });
  const sum = (measure) => finite.reduce((all, pair) => all + measure(pair), 0);
  const mean = (measure) => (finite.length === 0 ? null : sum(measure) / finite.length);
  const most = (measure) => finite.reduce((best, pair) => (best === null || measure(pair) > measure(best) ? pair : best), null);
  const relative = ({ b, difference }) => (b === 0 ? 0 : Math.abs(difference / b));
  const [widest, steepest, farthest] = [most(({ difference }) => Math.abs(difference)), most(relative), most(({ ulps }) => ulps)];
  const lengths = Math.sqrt(sum(({ a }) => a * a) * sum(({ b }) => b * b));
  const counts = Array(farthest === null ? 0 : bitsOf(farthest.ulps) + 1).fill(0);
  for (const { ulps } of finite) counts[bitsOf(ulps)] += 1;
  const squares = mean(({ difference }) => difference ** 2);
  return {
    ...r,
    all_close: far.length === 0,
    not_close_count: far.length,
    non_finite_count: left.length - finite.length,
    max_abs_difference: widest && Math.abs(widest.difference),
    max_abs_at: widest && pairOf(widest.i),
    mean_abs_difference: mean(({ difference }) => Math.abs(difference)),
    mean_difference: mean(({ difference }) => difference),
    rms_difference: squares === null ? null : Math.sqrt(squares),
    max_relative_difference: steepest && relative(steepest),
    max_relative_at: steepest && pairOf(steepest.i),
    cosine: lengths > 0 ? sum(({ a, b }) => a * b) / lengths : null,
    max_ulps: farthest === null ? null : farthest.ulps,
    max_ulps_at: farthest && farthest.ulps > 0 ? pairOf(farthest.i) : null,
    ulp_counts: counts,
    first_not_close: far.length > 0 ? pairOf(far[0]) : null,
    not_close: far.slice(0, list).map(pairOf),
  };
}

const bitsOf = (number) => (number === 0 ? 0 : Math.floor(Math.log2(number)) + 1);

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
