import { expect, it } from 'vitest';
import { parseQuery } from '../index/query';
import { sampleIndex } from '../testing/sample_index';
import { sampleNode } from '../testing/samples';
import { beyond, searchesCode } from './search_in_code';

it('the server is asked where it can find more than the index', () => {
  for (const text of ['cross_entropy', 'train.py:12', 'source:train.py kind:op', 'log category:gradient']) {
    expect(searchesCode(parseQuery(text)), text).toBe(true);
  }
  for (const text of ['', 'kind:op', 'type:conv', 'kind:scope conv', '/conv.*/', 'category:nonsense x']) {
    expect(searchesCode(parseQuery(text)), text).toBe(false);
  }
});

it('what the index has found is not listed twice', () => {
  const index = sampleIndex([{ name: 'forward/log' }, { name: 'forward/nll' }]);
  const found = Uint32Array.of(index.find('forward/log'));
  const nodes = ['forward/log', 'forward/nll', 'other/not_in_this_index'].map((name) => sampleNode(name));
  expect(beyond(nodes, index, found).map(({ name }) => name)).toEqual(['forward/nll', 'other/not_in_this_index']);
});
