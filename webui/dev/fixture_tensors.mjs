// The tensor routes of the fixture server.
import { Refusal } from './refusal.mjs';
import { pack } from './fixture_index.mjs';
import { binarySlice, blocksOf, comparisonOf, elementsOf, histogramOf, histogramsOf, nestedSlice, parseAxes, statisticsOf, ulpsBetween } from './fixture_values.mjs';

const MAX_AS_JSON = 100_000;

export function tensorOf(job, name) {
  const cut = name.lastIndexOf(':');
  const node = job.graph.byName.get(name.slice(0, cut));
  if (node === undefined || cut < 0) throw new Refusal(404, 'unknown_node', `There is no tensor "${name}" in this job.`);
  const ran = node.kind !== 'op' || job.step > 1 || job.at < 0 || job.ops.indexOf(node) <= job.at;
  if (job.step === 0 || !ran) throw new Refusal(404, 'value_gone', `"${name}" has no value yet: its op has not run.`);
  if (job.state === 'finished') throw new Refusal(410, 'value_gone', 'The job has ended; its tensors are gone.');
  return node;
}

// The tensor that a request names. `other` overrides it with the other side of a comparison.
function requested(job, query, { name = query.get('name') ?? '', step = query.get('step'), rank = Number(query.get('rank') ?? 0) } = {}) {
  const node = tensorOf(job, name);
  const shape = node.outputs[0].shape;
  let axes;
  try {
    axes = parseAxes(query.get('slice') ?? '', shape);
  } catch (error) {
    throw new Refusal(422, 'bad_slice', error.message, 'slice');
  }
  const slice_shape = axes.filter((axis) => !axis.dropped).map((axis) => axis.count);
  const at = step === null || step === 'current' ? job.step : step === 'previous' ? job.step - 1 : Number(step);
  if (!job.recorded && (at < job.step - 1 || at > job.step)) throw new Refusal(404, 'value_gone', `"${name}" is no longer held for step ${at}.`);
  const head = { name, node: node.name, slot: 0, rank, step: at, dtype: node.outputs[0].dtype, shape };
  // Each rank has its own data.
  return { node, axes, slice_shape, seed: at + rank * 1000, count: slice_shape.reduce((a, b) => a * b, 1), head };
}

function numbersOf({ node, seed, axes }) {
  return [elementsOf(node, seed, axes)].flat(Infinity);
}

function values(job, query, headers) {
  const wanted = requested(job, query);
  const { node, axes, slice_shape, seed, count, head } = wanted;
  if (headers.accept?.includes('application/octet-stream')) {
    const responseHeaders = { 'X-Graphdbg-Dtype': head.dtype, 'X-Graphdbg-Shape': slice_shape.join(','), 'X-Graphdbg-Step': head.step, 'X-Graphdbg-Overwritten': 'false' };
    return { bytes: binarySlice(node, seed, axes), headers: responseHeaders };
  }
  if (count > MAX_AS_JSON) throw new Refusal(413, 'slice_too_large', `The slice has ${count} elements; at most ${MAX_AS_JSON} can be sent as JSON.`);
  return { body: { ...head, slice: query.get('slice') ?? '', slice_shape, overwritten: false, grad_scale: null, data: nestedSlice(node, seed, axes) } };
}

const TENSOR = /^(?:rank:(?<rank>\d+)(?:,|$|(?=@)))?(?:tensor:(?<name>.*?:\d+))?(?:@(?<step>\d+|current|previous))?$/;

// What "with" names of the other side: see the route's description in openapi.yaml.
function otherSide(text) {
  if (text === 'previous') return { step: 'previous' };
  if (/^step:\d+$/.test(text)) return { step: text.slice('step:'.length) };
  const { rank, name, step } = TENSOR.exec(text)?.groups ?? {};
  if (rank === undefined && name === undefined) {
    throw new Refusal(400, 'invalid_parameter', '"with" names nothing to compare with.', 'with');
  }
  return {
    ...(rank === undefined ? {} : { rank: Number(rank) }),
    ...(name === undefined ? {} : { name }),
    ...(step === undefined ? {} : { step }),
  };
}

function compare(job, query) {
  const left = requested(job, query);
  const right = requested(job, query, otherSide(query.get('with') ?? ''));
  const [rtol, atol] = [Number(query.get('rtol') ?? 1e-5), Number(query.get('atol') ?? 1e-8)];
  const [a, b] = [numbersOf(left), numbersOf(right)];
  const result = comparisonOf(a, b, left.slice_shape, { rtol, atol, list: Number(query.get('list') ?? 16) });
  const bins = Number(query.get('bins') ?? 0);
  const histograms = bins === 0 ? null : histogramsOf(a, b, bins);
  const side = ({ head }) => ({ ...head, overwritten: false });
  return { left: side(left), right: side(right), slice: query.get('slice') ?? '', slice_shape: left.slice_shape, rtol, atol, ...result, histograms };
}

// Blocks of elements, as five planes of float32.
function map(job, query) {
  const left = requested(job, query);
  let values = numbersOf(left);
  if ((query.get('of') ?? 'left') !== 'left') {
    const others = numbersOf(requested(job, query, otherSide(query.get('with') ?? '')));
    const combine = {
      right: (_, other) => other,
      difference: (value, other) => (Object.is(value, other) ? 0 : value - other),
      ulps: (value, other) => (Object.is(value, other) ? 0 : Number.isFinite(value - other) ? ulpsBetween(value, other) : NaN),
    }[query.get('of')];
    values = values.map((value, i) => combine(value, others[i]));
  }
  const { grid, block, blocks, planes } = blocksOf(values, left.slice_shape, Number(query.get('rows') ?? 512), Number(query.get('columns') ?? 512));
  const headers = {
    'X-Graphdbg-Dtype': 'float32',
    'X-Graphdbg-Shape': [5, ...blocks].join(','),
    'X-Graphdbg-Grid': grid.join(','),
    'X-Graphdbg-Block': block.join(','),
    'X-Graphdbg-Step': left.head.step,
  };
  return { bytes: Buffer.from(Float32Array.from(planes.flat()).buffer), headers };
}

// The statistics of all steps so far, as if each had been inspected.
function history(job, query) {
  const name = query.get('name') ?? '';
  const node = job.graph.byName.get(name.slice(0, name.lastIndexOf(':')));
  if (node === undefined) throw new Refusal(404, 'unknown_node', `There is no tensor "${name}" in this job.`);
  const rank = Number(query.get('rank') ?? 0);
  const points = Array.from({ length: job.step }, (_, i) => ({ step: i + 1, statistics: statisticsOf(node, i + 1 + rank * 1000) }));
  return { name, node: node.name, slot: 0, rank, ...node.outputs[0], points };
}

// The query without its slice, for routes that apply to whole tensors.
function whole(query) {
  const copy = new URLSearchParams(query);
  copy.delete('slice');
  return copy;
}

// All statistics of a step: see proto/docs/step-statistics.md.
function stepStatistics(job, step) {
  const { nodes } = job.graph;
  const known = [...nodes.keys()].filter((i) => step > 0 && nodes[i].outputs.length > 0);
  const statistics = known.map((i) => statisticsOf(nodes[i], step));
  const count = (field) => BigUint64Array.from(statistics, (each) => BigInt(each[field]));
  const value = (field) => Float64Array.from(statistics, (each) => each[field] ?? NaN);
  const counts = ['count', 'nan_count', 'pos_inf_count', 'neg_inf_count', 'zero_count'];
  const values = ['abs_mean', 'abs_max', 'l2'];
  return pack({ step, rank: 0, graph: 'main', complete: true, records: known.length, modes: [] }, {
    node: Uint32Array.from(known),
    flags: new Uint32Array(known.length),
    ...Object.fromEntries(counts.map((field) => [field, count(field)])),
    ...Object.fromEntries(values.map((field) => [field, value(field)])),
  });
}

export function tensorRoute(job, route, query, headers) {
  switch (route) {
    case 'GET tensor': return values(job, query, headers);
    case 'GET tensor/statistics': {
      const { node, seed, head } = requested(job, whole(query));
      return { body: { ...head, overwritten: false, grad_scale: null, statistics: statisticsOf(node, seed) } };
    }
    case 'GET statistics': return { bytes: stepStatistics(job, Number(query.get('step') ?? job.step)) };
    case 'GET tensor/histogram': {
      const wanted = requested(job, query);
      const counted = histogramOf(numbersOf(wanted), Number(query.get('bins') ?? 64));
      return { body: { ...wanted.head, overwritten: false, slice: query.get('slice') ?? '', slice_shape: wanted.slice_shape, ...counted } };
    }
    case 'GET tensor/history': return { body: history(job, query) };
    case 'GET tensor/compare': return { body: compare(job, query) };
    case 'GET tensor/map': return map(job, query);
    case 'GET tensor/download': {
      const { node, seed, head } = requested(job, whole(query));
      const axes = parseAxes('', head.shape);
      const name = `${head.name.replaceAll(/[/:]/g, '_')}.${query.get('format') ?? 'npy'}`;
      return { bytes: binarySlice(node, seed, axes), headers: { 'Content-Disposition': `attachment; filename="${name}"` } };
    }
    default: return null;
  }
}
