import { expect, it } from 'vitest';
import { isTextField } from './typing';

function element(html: string): Element | null {
  document.body.innerHTML = html;
  return document.body.firstElementChild;
}

it('only fields that take text are text fields', () => {
  for (const html of ['<input>', '<input type="search">', '<input type="number">', '<textarea></textarea>']) {
    expect(isTextField(element(html)), html).toBe(true);
  }
  for (const html of ['<input type="checkbox">', '<select></select>', '<button></button>', '<div tabindex="0"></div>']) {
    expect(isTextField(element(html)), html).toBe(false);
  }
  expect(isTextField(window)).toBe(false);
});
