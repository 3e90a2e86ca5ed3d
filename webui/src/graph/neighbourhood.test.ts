import { describe, expect, it } from 'vitest';
import type { Statistics } from '../api/types';
import { sampleNode } from '../testing/samples';
import { composeLayout, LayoutCache } from './compose';
import { neighbourView } from './neighbourhood';
import { buildScene, layoutScopes } from './scene';
import { noteRoom, noteWidth } from './sizes';

const statistics = (more: Partial<Statistics> = {}) =>
  ({ nan_count: 0, pos_inf_count: 0, neg_inf_count: 0, abs_max: 1.2e11, mean: 6.45e10, ...more }) as Statistics;

// Six producers with two outputs each, all read by one node.
function sixInputs(): Parameters<typeof neighbourView>[0] {
  const output = (slot: number) => ({ slot, dtype: 'float32', shape: [2] });
  const producers = Array.from({ length: 6 }, (_, i) => ({
    ...sampleNode(`a/n${i}`),
    outputs: [output(0), output(1)],
  }));
  const centre = { ...sampleNode('a/centre'), outputs: [output(0)] };
  const known = (name: string, step: number) => ({ name, statistics: statistics(), statistics_step: step });
  return {
    nodes: [...producers, centre],
    edges: producers.flatMap(({ name }, i) =>
      [0, 1].map((slot) => ({ from: name, slot, to: 'a/centre', position: 2 * i + slot, kind: 'data' as const })),
    ),
    tensors: [
      ...producers.flatMap(({ name }) => [known(`${name}:0`, 5), known(`${name}:1`, 5)]),
      { name: 'a/centre:0', statistics: statistics({ nan_count: 4 }), statistics_step: 4 },
    ],
  };
}

describe('a neighbourhood', () => {
  const view = neighbourView(sixInputs(), 5);

  it('says of each output what is known, and of which step if not of this one', () => {
    expect(view.nodes[0]?.notes?.map(({ text }) => text)).toEqual([
      ':0  |max| 1.2e11 · mean 6.45e10',
      ':1  |max| 1.2e11 · mean 6.45e10',
    ]);
    expect(view.nodes[6]?.notes).toEqual([{ text: '4 NaN · step 4', alarm: true }]);
  });

  it('has no note upon another note or a box', () => {
    const views = new Map([['', view]]);
    const layout = composeLayout({ id: 1, scopes: layoutScopes(new Set(), views) }, new LayoutCache());
    const places = buildScene(layout, views).boxes.map(({ x, y, width, height, node }) => {
      const wide = Math.max(width, ...(node.notes ?? []).map(noteWidth));
      return { left: x + width / 2 - wide / 2, right: x + width / 2 + wide / 2, top: y, bottom: y + height + noteRoom(node) };
    });
    for (const a of places) {
      for (const b of places) {
        const apart = a.right < b.left || b.right < a.left || a.bottom < b.top || b.bottom < a.top;
        expect(a === b || apart).toBe(true);
      }
    }
  });
});
