import { expect, it } from 'vitest';
import { hasShortAttributes, shortAttributes } from './attributes';

it('leaves out what has its default', () => {
  const attributes = { kernel_shape: '[3, 3]', strides: '[2, 2]', pads: '[1, 1, 1, 1]', group: '1', dilations: '[1, 1]' };
  expect(shortAttributes('Conv', attributes)).toBe('3×3 · stride 2 · pad 1');
  expect(shortAttributes('Conv', { kernel_shape: '[1, 1]', strides: '[1, 1]', pads: '[0, 0, 0, 0]' })).toBe('1×1');
  expect(shortAttributes('MaxPool', { kernel_shape: '[3, 2]', strides: '[2, 1]', auto_pad: 'SAME_UPPER' })).toBe('3×2 · stride 2×1 · pad same');
});

it('names the attributes of other types', () => {
  expect(shortAttributes('Transpose', { perm: '[0, 2, 1]' })).toBe('perm 0, 2, 1');
  expect(shortAttributes('Relu', { anything: '1' })).toBe('');
  expect([hasShortAttributes('Conv'), hasShortAttributes('constructor')]).toEqual([true, false]);
});
