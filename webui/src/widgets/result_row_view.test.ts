import { expect, it } from 'vitest';
import { sampleNode } from '../testing/samples';
import { ResultRowView } from './result_row_view';

function marked(name: string, word: string): Array<string | null> {
  const view = new ResultRowView();
  view.show({ node: sampleNode('other/one'), index: 0, marked: false, current: false, hits: 0, word: 'o', width: 400 });
  view.show({ node: sampleNode(name), index: 1, marked: false, current: false, hits: 0, word, width: 400 });
  const cut = name.lastIndexOf('/');
  expect(view.element.textContent).toBe(name.slice(cut + 1) + name.slice(0, Math.max(0, cut)));
  return [...view.element.querySelectorAll('mark')].map((element) => element.textContent);
}

it('tells in which code a node was found', () => {
  const view = new ResultRowView();
  const row = { index: 0, marked: false, current: false, hits: 0, word: 'cross', width: 400 };
  const match = { file: '/src/train.py', line: 12, text: '  loss = cross_entropy(x)' };
  view.show({ ...row, node: sampleNode('forward/nll', { match }) });
  expect(view.element.textContent).toBe('nlltrain.py:12: loss = cross_entropy(x)forward');
  expect(view.element.title).toBe('forward/nll\ntrain.py:12: loss = cross_entropy(x)');
  view.show({ ...row, node: sampleNode('forward/nll') });
  expect(view.element.textContent).toBe('nllforward');
});

it('marks the text where it is first found, over path and label', () => {
  expect(marked('forward/conv1/convolution', 'CONV')).toEqual(['conv']);
  expect(marked('forward/conv1/convolution', '1/convo')).toEqual(['convo', '1']);
  expect(marked('forward/log', 'log')).toEqual(['log']);
  expect(marked('log', 'o')).toEqual(['o']);
  expect(marked('forward/log', 'zzz')).toEqual([]);
});

it('keeps what distinguishes the paths of similar blocks', () => {
  const view = new ResultRowView();
  const row = { index: 0, marked: false, current: false, hits: 0, word: 'silu', width: 240 };
  view.show({ ...row, node: sampleNode('forward/down_blocks/2/resnets/1/nonlinearity/silu') });
  expect(view.element.textContent).toBe('siluforw…/down…/2/resn…/1/nonl…');
});
