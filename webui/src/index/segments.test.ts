import { expect, it } from 'vitest';
import { chainsOf, segmentsOf } from './segments';

const links = (...pairs: Array<[number, number]>) => ({ from: pairs.map(([from]) => from), to: pairs.map(([, to]) => to) });
const none = () => false;

it('divides between the ops of a chain, but not within branches', () => {
  // 0 → 1, 1 → 2 → 4, 1 → 3 → 4, 4 → 5
  const graph = links([0, 1], [1, 2], [1, 3], [2, 4], [3, 4], [4, 5]);
  expect(segmentsOf(6, graph, none)).toEqual([0, 1, 2, 5]);
});

it('lets a value that is read all over the graph pass by', () => {
  const chain = Array.from({ length: 39 }, (_, i): [number, number] => [i, i + 1]);
  const mask = [5, 10, 15, 20, 25, 30, 39].map((to): [number, number] => [2, to]);
  expect(segmentsOf(40, links(...chain, ...mask), none)).toHaveLength(40);
  const twice = links(...chain, [2, 39]);
  expect(segmentsOf(40, twice, none)).toHaveLength(4);
  // The same from an input.
  expect(segmentsOf(40, twice, (at) => at === 2)).toHaveLength(40);
});

it('finds chains of ops that read only each other', () => {
  const graph = links([0, 1], [1, 2], [1, 3], [3, 4], [2, 5], [4, 5]);
  expect(chainsOf(0, 6, graph)).toEqual([[0, 1], [2], [3, 4], [5]]);
});
