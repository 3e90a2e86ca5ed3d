import { expect, it } from 'vitest';
import { ancestorsOf, fileName, fitPath, labelOf, splitTensor } from './names';

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

it('abbreviates words of paths, but not their numbers', () => {
  const path = 'forward/down_blocks/0/resnets/1/nonlinearity';
  expect(fitPath(path, 50)).toBe(path);
  expect(fitPath(path, 34)).toBe('forwa…/down_…/0/resne…/1/nonli…');
  expect(fitPath('forward/layer1/0/conv2', 18)).toBe('for…/la…1/0/co…2');
  expect(fitPath('a/b/c/d/e/f', 5)).toBe('…/e/f');
});
