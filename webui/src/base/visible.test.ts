import { expect, it } from 'vitest';
import { visible } from './visible';

it('leaves what can be seen as it is, in any script', () => {
  for (const text of ['forward/fc1', 'größe/重み/ملف', '<b>&amp;', '👩‍🚀'.replace('\u200d', '')]) {
    expect(visible(text)).toBe(text);
  }
});

it('shows what would turn text around, or not show, by its number', () => {
  expect(visible('a\u202Egnp.exe')).toBe('a⟨U+202E⟩gnp.exe');
  expect(visible('x\u0000\n\u200b')).toBe('x⟨U+0000⟩⟨U+000A⟩⟨U+200B⟩');
  // Each call anew.
  expect(visible('\u202E')).toBe(visible('\u202E'));
});
