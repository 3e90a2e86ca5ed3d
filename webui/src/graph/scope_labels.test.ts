import { expect, it } from 'vitest';
import { sampleNode } from '../testing/samples';
import type { Box } from './scene';
import { placeScopeLabels } from './scope_labels';

function scope(name: string, x: number, y: number, width: number, height: number): Box {
  const node = { ...sampleNode(name), kind: 'scope' as const };
  return { name, node, x, y, width, height, depth: 0, open: true, beside: false, inside: false, parent: name.slice(0, name.lastIndexOf('/')) };
}

const NESTED = [
  scope('forward', 0, 0, 4000, 3000),
  scope('forward/transformer', 14, 40, 3900, 2900),
  scope('forward/transformer/h', 28, 80, 3800, 2800),
  scope('forward/transformer/h/0', 2000, 1500, 1500, 1000),
];

it('appends the labels of nested scopes that would cover each other', () => {
  const texts = placeScopeLabels(NESTED, { x: 0, y: 0, scale: 0.1 }).map(({ text }) => text);
  expect(texts).toEqual(['forward › transformer › h', '0']);
});

it('leaves out labels without room, and covers nothing', () => {
  const tight = [...NESTED.slice(0, 2), scope('forward/transformer/ln', 1200, 60, 1300, 600), scope('forward/x', 20, 60, 1000, 500)];
  const labels = placeScopeLabels(tight, { x: 0, y: 0, scale: 0.1 });
  expect(labels.map(({ text }) => text)).toEqual(['forward › transformer']);
  const apart = placeScopeLabels(NESTED, { x: 0, y: 0, scale: 1 });
  expect(apart.map(({ text }) => text)).toEqual(['forward', 'transformer', 'h', '0']);
});
