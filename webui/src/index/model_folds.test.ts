import { describe, expect, it } from 'vitest';
import { buildGraph } from '../../dev/fixture_graph.mjs';
import { autoOpen, MAX_BOXES, MIN_BOXES } from '../graph/auto_open';
import { buildScene, boxAt, layoutScopes } from '../graph/scene';
import { composeLayout, LayoutCache } from '../graph/compose';
import { sampleIndex, type SampleNode } from '../testing/sample_index';
import { Folds } from './folds';
import { IndexViews } from './index_views';
import { liftEdges } from './lifted_edges';
import { modelGraphOf } from './model_graph';
import { modelFolds } from './model_folds';
import { pathTo } from './path';

// A flat model: each op reads the one before it; `inputs` may name others.
function flat(ops: ReadonlyArray<{ type: string; inputs?: string[] }>): SampleNode[] {
  return [
    { name: 'net/x', kind: 'input' },
    ...ops.map(({ type, inputs }, i) => ({
      name: `net/n${i}`,
      op_type: type,
      inputs: (inputs ?? [i === 0 ? 'x' : `n${i - 1}`]).map((name) => `net/${name}`),
    })),
  ];
}

const viewsOf = (nodes: readonly SampleNode[]) => {
  const index = sampleIndex(nodes);
  return new IndexViews(index, liftEdges(index), null);
};

const titles = (views: IndexViews, name: string) => views.get(name)?.nodes.map(({ title, label }) => title ?? label);

// Twelve blocks with a skip connection, between a stem and a head.
const BLOCKS = [
  { type: 'Stem' },
  ...Array.from({ length: 12 }, (_, block) => {
    const at = 1 + block * 5;
    return [
      { type: 'Conv' },
      { type: 'Norm' },
      { type: 'Relu' },
      { type: 'Conv' },
      { type: 'Add', inputs: [`n${at + 3}`, `n${at - 1}`] },
    ];
  }).flat(),
  { type: 'Head' },
];

describe('blocks of a flat model', () => {
  const views = viewsOf(flat(BLOCKS));

  it('are folded by their structure, whatever their names', () => {
    expect(titles(views, 'net')).toEqual(['Stem', 'Block × 12', 'Head', 'x']);
    const run = views.get('net')?.nodes[1];
    expect(run).toMatchObject({ name: 'net/blocks@1', kind: 'aggregate', child_count: 12, detail: '5 ops each, Conv … Add' });
    expect(titles(views, 'net/blocks@1')?.slice(0, 2)).toEqual(['Block 1 of 12', 'Block 2 of 12']);
    expect(titles(views, 'net/block@6')).toEqual(['Conv', 'Norm', 'Relu', 'Conv', 'Add']);
  });

  it('are connected as their ops are', () => {
    const ends = (name: string) => views.get(name)?.edges.map(({ from, to }) => `${from} ${to}`);
    expect(ends('net')).toEqual(['net/x net/n0', 'net/n0 net/blocks@1', 'net/blocks@1 net/n61']);
    expect(ends('net/blocks@1')).toHaveLength(11);
    expect(ends('net/block@6')).toHaveLength(4);
  });

  it('are opened to reach an op, and have its hits', () => {
    const path = ['net', 'net/blocks@1', 'net/block@6'];
    expect(pathTo(views.index, 'net/n8')).toEqual(path);
    expect(pathTo(views.index, 'net/block@6')).toEqual(path.slice(0, 2));
    expect(new Folds(views.index).over('net/n8')).toEqual(path.slice(1));
  });

  it('have some of them open in the first view, as examples', () => {
    expect(autoOpen(views, true).open).toEqual(['net', 'net/blocks@1', 'net/block@1', 'net/block@6', 'net/block@11']);
    expect(autoOpen(views).open).toEqual(['net', 'net/blocks@1']);
  });
});

it('blocks that differ in one op are not one run', () => {
  const other = BLOCKS.map((op, at) => (at === 31 ? { ...op, type: 'Gelu' } : op));
  const shown = titles(viewsOf(flat(other)), 'net') ?? [];
  expect(shown).toContain('Block × 6');
  expect(shown.join()).not.toContain('× 12');
  expect(shown).toContain('Gelu');
});

it('hundreds of different ops whose names differ by a number are no single box', () => {
  const types = Array.from({ length: 300 }, (_, i) => ({ type: `Op${(i * i) % 97}` }));
  const views = viewsOf(flat(types));
  for (const node of views.get('net')?.nodes ?? []) expect(node.descendant_count).toBeLessThan(150);
});

it('a graph of training keeps its folds', () => {
  const index = sampleIndex([{ name: 'forward/x', kind: 'input' }, ...Array.from({ length: 60 }, (_, i) => ({ name: `forward/n${i}`, op_type: 'Relu', inputs: ['forward/x'] }))]);
  expect(modelGraphOf(index)).toBeNull();
  expect(modelFolds(index).size).toBe(0);
  expect(new IndexViews(index, liftEdges(index), null).get('forward')?.nodes.map(({ name }) => name)).toEqual(['forward/n[*]', 'forward/x']);
});

it('siblings that feed each other, or of several types, are not folded in a graph of training', () => {
  const nodes = (of: (i: number) => Partial<SampleNode>) => [
    { name: 'forward/x', kind: 'input' as const },
    ...Array.from({ length: 30 }, (_, i) => ({ name: `forward/n${i}`, op_type: 'Relu', inputs: ['forward/x'], ...of(i) })),
  ];
  const count = (list: SampleNode[]) => viewsOf(list).get('forward')?.nodes.length;
  expect(count(nodes(() => ({})))).toBe(2);
  expect(count(nodes((i) => ({ inputs: [i === 0 ? 'forward/x' : `forward/n${i - 1}`] })))).toBe(31);
  expect(count(nodes((i) => ({ op_type: i === 7 ? 'Gelu' : 'Relu' })))).toBe(31);
});

describe('weights', () => {
  const views = viewsOf([
    { name: 'net/layer/w', kind: 'parameter', output: 'float32[16, 3]' },
    { name: 'net/shared', kind: 'constant', output: 'int64[2]' },
    { name: 'net/x', kind: 'input' },
    { name: 'net/turned', op_type: 'Transpose', inputs: ['net/layer/w'], output: 'float32[3, 16]' },
    { name: 'net/mm', op_type: 'MatMul', inputs: ['net/x', 'net/turned'], output: 'float32[1, 16]' },
    { name: 'net/a', op_type: 'Reshape', inputs: ['net/mm', 'net/shared'] },
    { name: 'net/b', op_type: 'Reshape', inputs: ['net/a', 'net/shared'] },
  ]);
  const inside = (op: string) => views.get('net')?.nodes.filter((node) => node.inside === op).map(({ name }) => name);

  it('belong to the first op that reads them, with what is computed of them alone', () => {
    expect(inside('net/mm')).toEqual(['net/turned', 'net/layer/w']);
    expect(inside('net/a')).toEqual(['net/shared']);
    expect(inside('net/b')).toEqual([]);
    // A scope that had only weights is not shown.
    expect(views.get('net')?.nodes.map(({ name }) => name)).not.toContain('net/layer');
    expect(pathTo(views.index, 'net/layer/w')).toEqual(['net']);
  });

  it('are drawn inside the box of their op', () => {
    const answer = composeLayout({ id: 1, scopes: layoutScopes(new Set(['net']), views) }, new LayoutCache());
    const scene = buildScene(answer, views);
    const op = scene.byName.get('net/mm')!;
    const rows = ['net/turned', 'net/layer/w'].map((name) => scene.byName.get(name)!);
    for (const row of rows) {
      expect(row.inside).toBe(true);
      expect(row.x).toBeGreaterThan(op.x);
      expect(row.x + row.width).toBeLessThan(op.x + op.width);
      expect(row.y).toBeGreaterThan(op.y);
      expect(row.y + row.height).toBeLessThan(op.y + op.height);
      expect(boxAt(scene, row.x + 2, row.y + 2)?.name).toBe(row.name);
    }
    expect(rows[1]!.y).toBeGreaterThanOrEqual(rows[0]!.y + rows[0]!.height);
    expect(boxAt(scene, op.x + 2, op.y + 2)?.name).toBe('net/mm');
  });
});

it('the first view of a model with branches has 30 to 60 boxes', () => {
  const { nodes } = buildGraph(2, 'model') as { nodes: Array<SampleNode> };
  const views = viewsOf(nodes);
  const { open } = autoOpen(views, true);
  const boxes = open.flatMap((name) => views.get(name)?.nodes ?? []).filter((node) => node.inside === undefined);
  expect(boxes.length).toBeGreaterThanOrEqual(MIN_BOXES);
  expect(boxes.length).toBeLessThanOrEqual(MAX_BOXES);
});
