import { expect, it } from 'vitest';
import type { GraphNode } from '../api/types';
import { sampleNode, sampleScope } from '../testing/samples';
import { Ticks } from './ticks';

const TREE = new Map<string, GraphNode[]>([
  ['', [sampleScope('net', 3), sampleNode('loss')]],
  ['net', [sampleScope('net/a', 2), sampleScope('net/b', 2), sampleNode('net/add')]],
  ['net/a', [sampleNode('net/a/mul'), sampleNode('net/a/exp')]],
]);
const childrenOf = (scope: string) => TREE.get(scope);
const node = (name: string) => {
  for (const children of TREE.values()) {
    const found = children.find((child) => child.name === name);
    if (found !== undefined) return found;
  }
  throw new Error(name);
};
const after = (...names: string[]) =>
  names.reduce((ticks, name) => ticks.toggle(node(name), childrenOf), Ticks.of(null));

it('ticks a node, and its scopes in part', () => {
  const ticks = after('net/a/mul');
  expect(['net/a/mul', 'net/a', 'net', 'net/b', 'loss'].map((name) => ticks.at(name))).toEqual([
    'all',
    'some',
    'some',
    'none',
    'none',
  ]);
  expect(ticks.lists()).toEqual({ nodes: ['net/a/mul'], scopes: [] });
});

it('a scope stands for all in it', () => {
  const ticks = after('net/a/mul', 'loss', 'net');
  expect(ticks.at('net/a/mul')).toBe('all');
  expect(ticks.lists()).toEqual({ nodes: ['loss'], scopes: ['net'] });
});

it('the last child that is ticked ticks its scope', () => {
  expect(after('net/a/mul', 'net/a/exp').lists()).toEqual({ nodes: [], scopes: ['net/a'] });
  expect(after('net/b', 'net/add', 'net/a/exp', 'net/a/mul').lists()).toEqual({ nodes: [], scopes: ['net'] });
});

it('what is taken out of a ticked scope leaves the rest ticked', () => {
  const ticks = after('net', 'net/a/mul');
  expect(ticks.lists()).toEqual({ nodes: ['net/a/exp', 'net/add'], scopes: ['net/b'] });
  expect(ticks.at('net')).toBe('some');
  expect(after('net', 'net').lists()).toEqual({ nodes: [], scopes: [] });
});

it('leaves a scope whole whose children are not known', () => {
  const ticks = Ticks.of({ nodes: [], scopes: ['net/b'] });
  expect(ticks.toggle(sampleNode('net/b/c/d'), childrenOf).lists()).toEqual({ nodes: [], scopes: ['net/b'] });
});
