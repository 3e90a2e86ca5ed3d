import { expect, it } from 'vitest';
import { ancestorsOf, fileName, labelOf } from './names';

it('takes names apart', () => {
  expect(labelOf('forward/fc1/addmm')).toBe('addmm');
  expect(labelOf('forward')).toBe('forward');
  expect(ancestorsOf('a/b/c')).toEqual(['a', 'a/b']);
  expect(ancestorsOf('a')).toEqual([]);
  expect(fileName('/x/y/train.py')).toBe('train.py');
});
