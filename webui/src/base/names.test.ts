import { expect, it } from 'vitest';
import { ancestorsOf, fileName, labelOf, splitTensor } from './names';

it('takes names apart', () => {
  expect(labelOf('forward/fc1/addmm')).toBe('addmm');
  expect(labelOf('forward')).toBe('forward');
  expect(ancestorsOf('a/b/c')).toEqual(['a', 'a/b']);
  expect(ancestorsOf('a')).toEqual([]);
  expect(fileName('/x/y/train.py')).toBe('train.py');
});

it('splits names of tensors', () => {
  expect(splitTensor('forward/fc/weight:0')).toEqual({ node: 'forward/fc/weight', slot: 0 });
  expect(splitTensor('a:b:12')).toEqual({ node: 'a:b', slot: 12 });
  expect(splitTensor('a:b')).toEqual({ node: 'a:b', slot: 0 });
});
