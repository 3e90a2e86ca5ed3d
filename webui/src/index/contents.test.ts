import { describe, expect, it } from 'vitest';
import { sampleIndex, type SampleNode } from '../testing/sample_index';
import { gradientOf } from './gradients';
import { peersOf } from './peers';
import { IndexViews } from './index_views';
import { liftEdges } from './lifted_edges';
import { opTypesOf, outputsOf } from './scope_contents';

const WEIGHT = 'float32[4, 4]';

function layer(i: number, trained: boolean): SampleNode[] {
  const at = `forward/h/${i}`;
  return [
    { name: `${at}/w`, kind: 'parameter', output: WEIGHT },
    { name: `${at}/mm`, op_type: 'aten::mm', inputs: [i === 0 ? 'forward/x' : `forward/h/${i - 1}/relu`, `${at}/w`] },
    { name: `${at}/relu`, op_type: 'aten::relu', inputs: [`${at}/mm`] },
    ...(trained
      ? [
          { name: `backward/h/${i}/mm`, op_type: 'aten::mm', output: 'float32[2, 4]', inputs: [`${at}/relu`] },
          { name: `backward/h/${i}/t`, op_type: 'aten::t', output: WEIGHT },
          { name: `backward/h/${i}/detach`, op_type: 'aten::detach', output: WEIGHT },
        ]
      : []),
  ];
}

const INDEX = sampleIndex([
  { name: 'forward/x', kind: 'input' },
  ...layer(0, false),
  ...layer(1, true),
  ...layer(2, true),
  { name: 'forward/loss', op_type: 'aten::sum', inputs: ['forward/h/2/relu'] },
  { name: 'forward/ln/weight', kind: 'parameter', output: 'float32[4]' },
  { name: 'forward/ln/bias', kind: 'parameter', output: 'float32[4]' },
  { name: 'backward/ln/detach', output: 'float32[4]' },
]);

describe('a parameter', () => {
  it('has the gradient that the backward pass of its module computes last', () => {
    expect(gradientOf(INDEX, 'forward/h/1/w')).toEqual({ state: 'computed', node: 'backward/h/1/detach' });
  });

  it('that is frozen has none', () => {
    expect(gradientOf(INDEX, 'forward/h/0/w')).toEqual({ state: 'none' });
  });

  it('is not guessed at', () => {
    expect(gradientOf(INDEX, 'forward/ln/weight')).toEqual({ state: 'unknown' });
    expect(gradientOf(sampleIndex(layer(0, false).slice(0, 1)), 'forward/h/0/w')).toEqual({ state: 'unknown' });
  });
});

it('counts the ops of a scope by type', () => {
  expect(opTypesOf(INDEX, 'forward/h')).toEqual([['aten::mm', 3], ['aten::relu', 3]]);
  expect(opTypesOf(INDEX, 'forward/none')).toEqual([]);
});

it('finds what leaves a scope within its phase', () => {
  expect(outputsOf(INDEX, 'forward/h/1')).toEqual(['forward/h/1/relu']);
  expect(outputsOf(INDEX, 'forward/h')).toEqual(['forward/h/2/relu']);
});

it('finds the same op in other layers, the nearest first', () => {
  expect(peersOf(INDEX, 'forward/h/2/relu', 8)).toEqual([
    { name: 'forward/h/1/relu', layer: 'h/1' },
    { name: 'forward/h/0/relu', layer: 'h/0' },
  ]);
  expect(peersOf(INDEX, 'forward/h/2/relu', 1)).toHaveLength(1);
  expect(peersOf(INDEX, 'forward/loss', 8)).toEqual([]);
  const named = sampleIndex([{ name: 'forward/layer1/mm' }, { name: 'forward/layer2/mm' }, { name: 'forward/norm1/mm' }]);
  expect(peersOf(named, 'forward/layer1/mm', 8)).toEqual([{ name: 'forward/layer2/mm', layer: 'layer2' }]);
});

it('puts the children of a scope among its siblings, in the order of execution', () => {
  const index = sampleIndex([
    { name: 'forward/x', kind: 'input' },
    { name: 'forward/layers/0', inputs: ['forward/x'] },
    { name: 'forward/sigmoid', inputs: ['forward/layers/0'] },
    { name: 'forward/layers/1', inputs: ['forward/sigmoid'] },
    { name: 'forward/sigmoid_1', inputs: ['forward/layers/1'] },
  ]);
  const views = new IndexViews(index, liftEdges(index), null);
  const view = views.spread('forward', ['forward/layers']);
  expect(view.nodes.map(({ label }) => label)).toEqual(['layers/0', 'sigmoid', 'layers/1', 'sigmoid_1', 'x']);
  expect(view.nodes.map(({ name }) => name)).toContain('forward/layers/1');
  expect(view.edges.map(({ from, to }) => `${from}>${to}`)).toEqual([
    'forward/x>forward/layers/0',
    'forward/layers/0>forward/sigmoid',
    'forward/sigmoid>forward/layers/1',
    'forward/layers/1>forward/sigmoid_1',
  ]);
  expect(views.spread('forward', ['forward/layers'])).toBe(view);
});
