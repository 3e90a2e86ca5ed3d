// A full name as an element, for rows that are written directly. It is the same as the one
// in full_name.tsx.

import { visible } from '../base/visible';

export function fullNameElement(raw: string): HTMLElement {
  const name = visible(raw);
  const cut = name.lastIndexOf('/') + 1;
  const path = document.createElement('span');
  path.className = 'full-name-path';
  path.textContent = name.slice(0, cut);
  const text = document.createElement('bdi');
  text.append(path, name.slice(cut));
  const element = document.createElement('span');
  element.className = 'full-name mono';
  element.append(text);
  return element;
}
