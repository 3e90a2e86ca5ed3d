import { describe, expect, it } from 'vitest';
import { graphIndex } from '../../dev/fixture_index.mjs';
import { buildGraph } from '../../dev/fixture_graph.mjs';
import { gunzipSync } from 'node:zlib';
import { sampleIndex } from '../testing/sample_index';
import { openName, parseAggregate, stemOf } from './aggregates';
import { readColumns } from './columns';
import { coversNode, namesOf, patternOf, watchedBy, type WatchSelection } from './coverage';
import { buildIndex, GraphIndex, NONE } from './graph_index';
import { Folds } from './folds';
import { liftEdges } from './lifted_edges';
import { pathTo } from './path';
import { parametersOf } from './parameters';
import { parseQuery } from './query';
import { viewOf } from './scope_view';
import { NameSearch } from './search';
import { indexHits } from '../state/hit_index';
import { sampleHit } from '../testing/samples';
import { isSourceGroup, linesOf, placesOf, sourceHits, sourcePath, SourceViews } from './source_views';

const INDEX = sampleIndex(
  [
    { name: 'forward/fc/w', kind: 'parameter', category: 'weight', output: 'float32[4, 3]' },
    { name: 'forward/x', kind: 'input' },
    { name: 'forward/fc/mm', inputs: ['forward/x', 'forward/fc/w'], category: 'activation', op_type: 'aten::mm', source: ['/home/a/train.py', 7] },
    { name: 'forward/relu', inputs: ['forward/fc/mm'], category: 'activation', op_type: 'aten::relu', source: ['/home/a/train.py', 8] },
    { name: 'backward/mm', inputs: ['forward/relu', 'forward/fc/mm'], category: 'gradient' },
    { name: 'loose' },
  ],
  { 'forward/fc': 'Linear' },
);
const LIFTED = liftEdges(INDEX);
const view = (name: string) => viewOf(INDEX, LIFTED, null, name)!;

describe('the file', () => {
  const body = () => {
    const bytes = gunzipSync(graphIndex(buildGraph(2)));
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  };

  it('gives back the graph that it was made of', () => {
    const graph = buildGraph(2);
    const index = new GraphIndex(buildIndex(readColumns(body())));
    const names = graph.nodes.map((node: { name: string }) => node.name);
    expect(names.map((_: string, i: number) => index.name(index.scopeCount + i))).toEqual(names);
    const bn = viewOf(index, liftEdges(index), null, 'forward/blocks/0/bn1')!;
    expect(bn.nodes.map((node) => node.label)).toEqual(['native_batch_norm', 'weight', 'bias', 'running_mean', 'running_var']);
    expect(bn.nodes[0]?.outputs).toEqual([{ slot: 0, dtype: 'float32', shape: [64, 16, 8, 8] }]);
    expect(bn.edges).toHaveLength(4);
  });

  it('that is not one is refused, and so is one that is cut short', () => {
    expect(() => readColumns(new ArrayBuffer(4))).toThrow('not a graph index');
    expect(() => readColumns(new TextEncoder().encode('GDBGIDX\x01 and more').buffer as ArrayBuffer)).toThrow('version 1');
    expect(() => readColumns(body().slice(0, -64))).toThrow('truncated');
  });

  it('may hold differences', () => {
    const header = JSON.stringify({ kinds: [], categories: [], columns: { a: { type: 'u32', offset: 0, count: 3, differences: true } } });
    const padded = header.padEnd(Math.ceil(header.length / 8) * 8);
    const bytes = new Uint8Array(16 + padded.length + 12);
    bytes.set(new TextEncoder().encode('GDBGIDX\x02'));
    new DataView(bytes.buffer).setUint32(8, padded.length, true);
    bytes.set(new TextEncoder().encode(padded), 16);
    new Uint8Array(bytes.buffer, 16 + padded.length).set(new Uint8Array(Uint32Array.of(5, 2, 0xffffffff).buffer));
    expect([...readColumns(bytes.buffer).columns['a']!]).toEqual([5, 7, 6]);
  });
});

describe('an index', () => {
  it('finds items by their names', () => {
    expect(INDEX.name(INDEX.find('forward/fc'))).toBe('forward/fc');
    expect(INDEX.kind(INDEX.find('forward/fc/w'))).toBe('parameter');
    expect(INDEX.find('forward/no')).toBe(NONE);
    expect(INDEX.find('loose/more')).toBe(NONE);
  });

  it('shows what has not executed as it was defined', () => {
    // Scopes come by name; act has no parameters.
    const types = { 'z/act': 'ReLU', 'z/norm': 'LayerNorm', 'z/qkv': 'Linear', 'z/out/10': 'Linear', 'z/out/9': 'Linear' };
    const names = ['z/qkv/w', 'z/out/9/w', 'z/out/10/w', 'z/norm/w'];
    const index = sampleIndex(names.map((name) => ({ name, kind: 'parameter' })), types);
    const labels = (name: string) => viewOf(index, null, null, name)!.nodes.map((node) => node.label);
    expect(labels('z')).toEqual(['qkv', 'out', 'norm', 'act']);
    expect(labels('z/out')).toEqual(['9', '10']);
  });

  it('shows children in order of execution, what does not execute last', () => {
    expect(view('').nodes.map((node) => node.name)).toEqual(['forward', 'backward', 'loose']);
    expect(view('forward').nodes.map((node) => node.label)).toEqual(['fc', 'relu', 'x']);
    expect(view('forward').nodes[0]).toMatchObject({ kind: 'scope', op_type: 'Linear', child_count: 2, descendant_count: 2 });
    expect(viewOf(INDEX, LIFTED, null, 'nowhere')).toBeNull();
  });

  it('lifts each edge to the innermost scope that holds both ends, and counts them', () => {
    const edges = (name: string) => view(name).edges.map(({ from, to, tensors }) => `${from} > ${to} ${tensors}`);
    expect(edges('')).toEqual(['forward > backward 2']);
    expect(edges('forward').sort()).toEqual(['forward/fc > forward/relu 1', 'forward/x > forward/fc 1']);
    expect(edges('forward/fc')).toEqual(['forward/fc/w > forward/fc/mm 1']);
  });
});

describe('aggregates', () => {
  const many = sampleIndex([
    ...Array.from({ length: 30 }, (_, i) => ({ name: `o/param_${i}`, inputs: i > 0 ? ['o/sum'] : [] })),
    { name: 'o/sum' },
  ].map((node, i, all) => (i < all.length - 1 ? { ...node, inputs: [] } : { ...node, inputs: ['o/param_0', 'o/param_1'] })));
  const lifted = liftEdges(many);

  it('have the stems of the server', () => {
    expect(['relu', 'relu_12', 'relu__1', 'conv2', '17'].map(stemOf)).toEqual(['relu', 'relu', 'relu_', 'conv', '']);
    expect(parseAggregate('a/b/mul[*]')).toEqual({ scope: 'a/b', stem: 'mul', range: null });
    expect(parseAggregate('[1000:2000]')).toEqual({ scope: '', stem: '', range: [1000, 2000] });
    expect(parseAggregate('a[2:1]')).toBeNull();
    expect(parseAggregate('a/b')).toBeNull();
  });

  it('stand for many like siblings, with their edges', () => {
    const shown = viewOf(many, lifted, null, 'o')!;
    expect(shown.nodes.map((node) => [node.label, node.kind, node.child_count])).toEqual([
      ['param_0 … param_29', 'aggregate', 30],
      ['sum', 'op', 0],
    ]);
    expect(shown.edges).toEqual([{ from: 'o/param[*]', to: 'o/sum', tensors: 2, kind: 'data' }]);
    expect(viewOf(many, lifted, null, 'o/param[*]')!.nodes).toHaveLength(30);
  });

  it('are on the way to what they hold', () => {
    expect(pathTo(many, 'o/param_7')).toEqual(['o', 'o/param[*]']);
    expect(pathTo(many, 'o/sum')).toEqual(['o']);
    expect(pathTo(many, 'o/param[*]')).toEqual(['o']);
    expect(pathTo(INDEX, 'forward/fc/w')).toEqual(['forward', 'forward/fc']);
  });

  it('have the hits of what they hold', () => {
    const hits = ['o/param_7', 'o/param_7', 'o/sum'].map((node, id) => sampleHit({ id, node }));
    const { counts } = indexHits(hits, new Folds(many));
    expect(counts.get('o/param[*]')).toBe(2);
    expect(counts.get('o')).toBe(3);
  });

  it('of very many are cut into ranges', () => {
    const huge = sampleIndex(Array.from({ length: 1500 }, (_, i) => ({ name: `o/p_${i}` })));
    expect(openName(huge, 'o/p[*]')!.shown.map((shown) => shown.label)).toEqual(['p[0:1000]', 'p[1000:2000]']);
    expect(openName(huge, 'o/p[1000:2000]')!.shown).toHaveLength(500);
    expect(new Folds(huge).over('o/p_1200')).toEqual(['o/p[*]', 'o/p[1000:2000]']);
    expect(pathTo(huge, 'o/p_1200')).toEqual(['o', 'o/p[*]', 'o/p[1000:2000]']);
    expect(pathTo(huge, 'o/p[1000:2000]')).toEqual(['o', 'o/p[*]']);
  });
});

it('knows the parameters of a scope, at any depth', () => {
  expect(parametersOf(INDEX, 'forward', 9)).toMatchObject({ nodes: [{ name: 'forward/fc/w' }], count: 1, elements: 12 });
  expect(parametersOf(INDEX, 'forward', 0)).toEqual({ nodes: [], count: 1, elements: 12 });
  expect(parametersOf(INDEX, 'backward', 9).count).toBe(0);
  expect(parametersOf(INDEX, 'nowhere', 9).count).toBe(0);
});

describe('the search', () => {
  const search = new NameSearch(INDEX);
  const found = (text: string) => Array.from(search.find(text), (item) => INDEX.name(item));

  it('looks for parts of names, in any case, what is called so first', () => {
    expect(found('FC')).toEqual(['forward/fc', 'forward/fc/w', 'forward/fc/mm']);
    expect(found('f')[0]).toBe('forward');
    expect(found('mm forw')).toEqual(['forward/fc/mm']);
    expect(found('nothing')).toEqual([]);
  });

  it('takes plain words for op types as well', () => {
    expect(found('aten::mm')).toEqual(['forward/fc/mm']);
    expect(found('linear')).toEqual(['forward/fc']);
    expect(found('aten::mm forw')).toEqual(['forward/fc/mm']);
    // All types begin with it.
    expect(found('aten')).toEqual([]);
  });

  it('takes plain words where each op has a type of its own', () => {
    const nodes = Array.from({ length: 150_000 }, (_, i) => ({ name: `op_${i}`, op_type: `own::kernel_${i}` }));
    const index = sampleIndex(nodes);
    expect(new NameSearch(index).find('kernel_149999')).toHaveLength(1);
  });

  it('looks for types, categories, kinds and source lines', () => {
    expect(found('type:mm')).toEqual(['forward/fc/mm']);
    expect(found('type:aten::r')).toEqual(['forward/relu']);
    expect(found('category:grad')).toEqual(['backward/mm']);
    expect(found('kind:param')).toEqual(['forward/fc/w']);
    expect(found('train.py:8')).toEqual(['forward/relu']);
    expect(found('source:train.py')).toEqual(['forward/fc/mm', 'forward/relu']);
    expect(found('source:rain.py')).toEqual([]);
  });

  it('takes regular expressions, and says what is wrong with a query', () => {
    expect(found('/fc/(w|x)$/')).toEqual(['forward/fc/w']);
    expect(parseQuery('/(/').problem).not.toBeNull();
    expect(parseQuery('category:food').problem).toContain('Unknown category “food”');
  });
});

describe('what is watched', () => {
  const none: WatchSelection = { nodes: [], scopes: [], patterns: [], categories: [], target: null };
  const watched = (...selections: Array<Partial<WatchSelection>>) => {
    const states = watchedBy(INDEX, selections.map((selection) => ({ ...none, ...selection })));
    // All but the top.
    const names = Array.from({ length: INDEX.scopeCount + INDEX.nodeCount - 1 }, (_, i) => INDEX.name(i + 1));
    const nodes = names.filter((name) => !INDEX.isScope(INDEX.find(name)));
    for (const name of nodes) {
      const one = selections.some((selection) => coversNode({ ...none, ...selection }, name, INDEX.category(INDEX.find(name))));
      expect(one, name).toBe(states.of(INDEX.find(name)) === 'all');
    }
    return Object.fromEntries(names.map((name) => [name, states.of(INDEX.find(name))]).filter(([, state]) => state !== 'none'));
  };

  it('is what is listed, what lies in scopes, and what patterns and categories take', () => {
    expect(watched({ nodes: ['forward/relu'] })).toEqual({ forward: 'some', 'forward/relu': 'all' });
    expect(watched({ scopes: ['forward/fc'] })).toMatchObject({ 'forward/fc': 'all', forward: 'some' });
    expect(watched({ patterns: ['**/mm'] })).toMatchObject({ 'forward/fc/mm': 'all', backward: 'all' });
    expect(watched({ categories: ['gradient'] })).toEqual({ backward: 'all', 'backward/mm': 'all' });
  });

  it('is everything without a selection, or what the condition looks at', () => {
    expect(watched({})).toMatchObject({ forward: 'all', loose: 'all' });
    expect(watched({ target: 'weight' })).toEqual({ forward: 'some', 'forward/fc': 'some', 'forward/fc/w': 'all' });
    expect(watched()).toEqual({});
  });

  it('is said by scopes and nodes as ticks would be', () => {
    const meant = (selection: Partial<WatchSelection>) => ({ index: INDEX, watched: watchedBy(INDEX, [{ ...none, ...selection }]) });
    expect(namesOf(meant({ patterns: ['**/mm'] }))).toEqual({ nodes: ['forward/fc/mm'], scopes: ['backward'] });
    expect(namesOf(meant({}))).toEqual({ nodes: ['loose'], scopes: ['forward', 'backward'] });
  });

  it('follows patterns as shells do', () => {
    expect(patternOf('a/*/c').test('a/b/c')).toBe(true);
    expect(patternOf('a/*/c').test('a/b/b/c')).toBe(false);
    expect(patternOf('a/**c').test('a/b/b/c')).toBe(true);
    expect(patternOf('m?.(x)').test('mm.(x)')).toBe(true);
  });
});

describe('nodes by source', () => {
  const views = new SourceViews(INDEX, null);

  it('lie in lines, and those in files', () => {
    const files = views.get('')!.nodes;
    expect(files.map((file) => [file.label, file.child_count, file.op_type])).toEqual([['train.py', 2, '2 nodes']]);
    const lines = views.get(files[0]!.name)!.nodes;
    expect(lines.map((line) => line.label)).toEqual(['line 7', 'line 8']);
    expect(views.get(lines[0]!.name)!.nodes.map((node) => [node.name, node.label])).toEqual([['forward/fc/mm', 'mm']]);
    expect(views.has('forward')).toBe(false);
  });

  it('are named without the scopes that all of their line share', () => {
    const source: [string, number] = ['train.py', 3];
    const index = sampleIndex([0, 1].map((i) => ({ name: `forward/h/${i}/attn/mm`, source })));
    const layers = new SourceViews(index, null);
    const line = layers.get(layers.get('')!.nodes[0]!.name)!.nodes[0]!;
    expect(layers.get(line.name)!.nodes.map(({ label }) => label)).toEqual(['0/attn/mm', '1/attn/mm']);
  });

  it('show their code once it is known, and the hits of what they hold', () => {
    expect(placesOf(INDEX)).toEqual(['/home/a/train.py:7', '/home/a/train.py:8']);
    expect(linesOf(INDEX, '/home/a/train.py')).toEqual([7, 8]);
    const known = new SourceViews(INDEX, null, new Map([['/home/a/train.py:8', '  y = relu(x)']]));
    const [file, line] = sourcePath(INDEX, 'forward/relu') as [string, string];
    expect(known.get(file)!.nodes.map(({ label }) => label)).toEqual(['line 7', '8  y = relu(x)']);
    const hits = sourceHits(INDEX, new Map([['forward', 3], ['forward/fc/mm', 1], ['forward/relu', 2]]));
    expect([hits.get(file), hits.get(line), hits.get('forward')]).toEqual([3, 2, 3]);
  });

  it('are found by their names', () => {
    const path = sourcePath(INDEX, 'forward/relu');
    expect(path.every(isSourceGroup)).toBe(true);
    expect(views.get(path[1]!)!.nodes.map((node) => node.name)).toEqual(['forward/relu']);
    expect(sourcePath(INDEX, 'loose')).toEqual([]);
    expect(sourcePath(INDEX, 'forward/fc')).toEqual([]);
  });
});
