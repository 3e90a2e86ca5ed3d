import { render } from '@testing-library/react';
import { expect, it } from 'vitest';
import { FullName } from './full_name';

function marked(name: string, mark: string): Array<string | null> {
  const { container } = render(<FullName name={name} mark={mark} />);
  expect(container.textContent).toBe(name);
  return [...container.querySelectorAll('mark')].map((element) => element.textContent);
}

it('marks the text where it is first found, over path and label', () => {
  expect(marked('forward/conv1/convolution', 'CONV')).toEqual(['conv']);
  expect(marked('forward/conv1/convolution', '1/convo')).toEqual(['1/', 'convo']);
  expect(marked('forward/log', 'log')).toEqual(['log']);
  expect(marked('log', 'o')).toEqual(['o']);
  expect(marked('forward/log', 'zzz')).toEqual([]);
});
