import { describe, expect, it } from 'vitest';
import { sampleNode, sampleScope, sampleView } from '../testing/samples';
import type { ScopeView } from '../api/types';
import { ancestorsOf } from '../base/names';
import { IndexViews } from '../index/index_views';
import { liftEdges } from '../index/lifted_edges';
import { sampleIndex } from '../testing/sample_index';
import { autoOpen, MAX_BOXES } from './auto_open';
import { composeLayout, LayoutCache } from './compose';
import type { Marks } from './marks';
import { boxAt, boxOf, buildScene, layoutScopes, leafBoxes, onChevron, type Scene } from './scene';
import { summarise } from './summary';

const NO_MARKS: Marks = {
  selected: null,
  hovered: null,
  current: null,
  hits: new Map(),
  producers: new Set(),
  consumers: new Set(),
  trail: new Map(),
  pathTo: ancestorsOf,
};

const VIEWS: ReadonlyMap<string, ScopeView> = new Map(
  [
    sampleView('', [sampleScope('forward', 3), sampleScope('backward', 2)], ['forward>backward']),
    sampleView(
      'forward',
      [sampleScope('forward/fc1', 2), sampleScope('forward/fc2', 2), sampleNode('forward/log')],
      ['fc1>fc2', 'fc2>log'],
    ),
    sampleView('forward/fc1', [sampleNode('forward/fc1/w'), sampleNode('forward/fc1/mm')], ['w>mm']),
    sampleView('forward/fc2', [sampleNode('forward/fc2/w'), sampleNode('forward/fc2/mm')], ['w>mm']),
  ].map((view) => [view.scope, view]),
);

function sceneOf(open: string[], cache = new LayoutCache()): Scene {
  const scopes = layoutScopes(new Set(open), VIEWS);
  return buildScene(composeLayout({ id: 1, scopes }, cache), VIEWS);
}

describe('scenes', () => {
  it('hold what open scopes hold, inside them', () => {
    const scene = sceneOf(['forward', 'forward/fc1']);
    const names = scene.boxes.map((box) => box.name);
    expect(names).toContain('forward/fc1/mm');
    expect(names).not.toContain('forward/fc2/mm');
    for (const box of scene.boxes) {
      if (box.parent === '') continue;
      const parent = scene.byName.get(box.parent)!;
      expect(box.x).toBeGreaterThan(parent.x);
      expect(box.x + box.width).toBeLessThan(parent.x + parent.width);
      expect(box.y).toBeGreaterThan(parent.y);
      expect(box.y + box.height).toBeLessThan(parent.y + parent.height);
    }
  });

  it('hide what lies in a scope below a closed one', () => {
    expect(sceneOf(['forward/fc1']).boxes.map((box) => box.name)).toEqual(['forward', 'backward']);
  });

  it('keep edges with the scope that they lie in', () => {
    const scene = sceneOf(['forward']);
    expect(scene.scopes.get('')?.edges).toHaveLength(1);
    expect(scene.scopes.get('forward')?.edges.map((edge) => edge.to)).toEqual(['forward/fc2', 'forward/log']);
  });

  it('lay out equal scopes once', () => {
    const cache = new LayoutCache();
    sceneOf(['forward', 'forward/fc1', 'forward/fc2'], cache);
    expect(cache.hits).toBe(1);
  });

  it('find the innermost box and its chevron', () => {
    const scene = sceneOf(['forward', 'forward/fc1']);
    const inner = scene.byName.get('forward/fc1/mm')!;
    expect(boxAt(scene, inner.x + 5, inner.y + 5)?.name).toBe('forward/fc1/mm');
    const scope = scene.byName.get('forward/fc1')!;
    expect(boxAt(scene, scope.x + 3, scope.y + 3)?.name).toBe('forward/fc1');
    expect(onChevron(scope, scope.x + 10, scope.y + 10)).toBe(true);
    expect(onChevron(inner, inner.x + 10, inner.y + 10)).toBe(false);
    expect(boxAt(scene, -100, -100)).toBeNull();
  });

  it('let a closed scope stand for what it hides', () => {
    const scene = sceneOf(['forward']);
    expect(boxOf(scene, 'forward/fc1/mm', ancestorsOf)?.name).toBe('forward/fc1');
    expect(boxOf(scene, 'nowhere', ancestorsOf)).toBeNull();
  });

  it('without a graph are empty', () => {
    const scene = buildScene(composeLayout({ id: 1, scopes: {} }, new LayoutCache()), new Map());
    expect(leafBoxes(scene)).toEqual([]);
    expect(summarise(scene, NO_MARKS)).toBe('Graph: nothing recorded yet.');
  });

  it('can be told in words', () => {
    const marks = { ...NO_MARKS, current: 'forward/log', hits: new Map([['forward/log', 2]]) };
    expect(summarise(sceneOf(['forward']), marks)).toBe(
      'Graph: 1 node, 1 open scope and 3 closed scopes shown; current node: forward/log; 1 box with hits.',
    );
  });
});

describe('the first view', () => {
  const views = (...list: ScopeView[]) => new Map(list.map((view) => [view.scope, view]));
  const many = (scope: string, count: number) =>
    sampleView(scope, Array.from({ length: count }, (_, i) => sampleNode(`${scope}/n${i}`)));

  it('asks for the top, then for the largest scope', () => {
    expect(autoOpen(new Map()).wanted).toEqual(['']);
    const top = sampleView('', [sampleScope('a', 10), sampleScope('b', 40)]);
    expect(autoOpen(views(top))).toEqual({ open: ['b'], wanted: ['b'] });
    expect(autoOpen(views(top, many('b', 40), many('a', 10))).open).toEqual(['b', 'a']);
  });

  it('opens level by level, and no more once enough is shown', () => {
    const top = sampleView('', [sampleScope('a', 2), sampleScope('b', 30)]);
    const a = sampleView('a', [sampleScope('a/x', 20), sampleNode('a/y')]);
    expect(autoOpen(views(top, a, many('b', 30))).open).toEqual(['b', 'a']);
  });

  it('does not open what is empty', () => {
    expect(autoOpen(views(sampleView('', [sampleScope('a', 0)])))).toEqual({ open: [], wanted: [] });
  });

  it('skips scopes that would show too much', () => {
    const top = sampleView('', [sampleScope('a', 20), sampleScope('huge', MAX_BOXES)]);
    expect(autoOpen(views(top)).open).toEqual(['a']);
  });

  it('leaves a small graph as it is when nothing can be opened', () => {
    expect(autoOpen(views(sampleView('', [sampleNode('x')])))).toEqual({ open: [], wanted: [] });
  });
});

it('opens blocks that differ only in their number together, or none of them', () => {
  const blocks = (children: number) =>
    new Map(
      [
        sampleView('', [sampleScope('forward', 5)]),
        sampleView('forward', [...[0, 1, 2, 3].map((i) => sampleScope(`forward/${i}`, children)), sampleScope('forward/head', 2)]),
        ...[0, 1, 2, 3].map((i) =>
          sampleView(`forward/${i}`, Array.from({ length: children }, (_, n) => sampleNode(`forward/${i}/op_${n}`))),
        ),
        sampleView('forward/head', [sampleNode('forward/head/a'), sampleNode('forward/head/b')]),
      ].map((view) => [view.scope, view]),
    );
  expect(autoOpen(blocks(5)).open).toEqual(['forward', 'forward/0', 'forward/1', 'forward/2', 'forward/3', 'forward/head']);
  expect(autoOpen(blocks(MAX_BOXES / 2)).open).toEqual(['forward', 'forward/head']);
});

it('draws layers among the ops between which they run, while their list is open', () => {
  const index = sampleIndex([
    { name: 'forward/layers/0/mm' },
    { name: 'forward/sigmoid', inputs: ['forward/layers/0/mm'] },
    { name: 'forward/layers/1/mm', inputs: ['forward/sigmoid'] },
    { name: 'forward/sigmoid_1', inputs: ['forward/layers/1/mm'] },
  ]);
  const views = new IndexViews(index, liftEdges(index), null);
  const draw = (open: string[]) => {
    const scopes = layoutScopes(new Set(open), views);
    return buildScene(composeLayout({ id: 1, scopes }, new LayoutCache()), views);
  };
  const open = draw(['forward', 'forward/layers']);
  const tops = ['layers/0', 'sigmoid', 'layers/1', 'sigmoid_1'].map((name) => open.byName.get(`forward/${name}`)?.y ?? NaN);
  expect(tops).toEqual(tops.toSorted((a, b) => a - b));
  expect(new Set(tops).size).toBe(4);
  expect(open.byName.has('forward/layers')).toBe(false);
  expect(boxOf(open, 'forward/layers/1/mm', ancestorsOf)?.name).toBe('forward/layers/1');
  expect(draw(['forward']).byName.get('forward/layers')?.open).toBe(false);
  expect(autoOpen(views).open).toContain('forward/layers');
});
