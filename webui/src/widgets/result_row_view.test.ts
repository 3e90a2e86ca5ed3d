import { expect, it } from 'vitest';
import { sampleNode } from '../testing/samples';
import { ResultRowView } from './result_row_view';

function marked(name: string, word: string): Array<string | null> {
  const view = new ResultRowView();
  view.show({ node: sampleNode('other/one'), index: 0, marked: false, current: false, hits: 0, word: 'o' });
  view.show({ node: sampleNode(name), index: 1, marked: false, current: false, hits: 0, word });
  expect(view.element.textContent).toBe(name);
  return [...view.element.querySelectorAll('mark')].map((element) => element.textContent);
}

it('marks the text where it is first found, over path and label', () => {
  expect(marked('forward/conv1/convolution', 'CONV')).toEqual(['conv']);
  expect(marked('forward/conv1/convolution', '1/convo')).toEqual(['1/', 'convo']);
  expect(marked('forward/log', 'log')).toEqual(['log']);
  expect(marked('log', 'o')).toEqual(['o']);
  expect(marked('forward/log', 'zzz')).toEqual([]);
});
