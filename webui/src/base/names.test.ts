import { expect, it } from 'vitest';
import { ancestorsOf, fileName, isWithin, labelOf, parentOf } from './names';

it('takes names apart', () => {
  expect(labelOf('forward/fc1/addmm')).toBe('addmm');
  expect(labelOf('forward')).toBe('forward');
  expect(parentOf('forward/fc1/addmm')).toBe('forward/fc1');
  expect(parentOf('forward')).toBe('');
  expect(ancestorsOf('a/b/c')).toEqual(['a', 'a/b']);
  expect(ancestorsOf('a')).toEqual([]);
  expect(fileName('/x/y/train.py')).toBe('train.py');
});

it('does not take a longer label for a scope', () => {
  expect(isWithin('forward/fc1/t', 'forward/fc1')).toBe(true);
  expect(isWithin('forward/fc10/t', 'forward/fc1')).toBe(false);
  expect(isWithin('anything', '')).toBe(true);
});
