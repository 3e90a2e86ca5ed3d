// The marks of a node as elements, for rows that are written directly. They are the same as
// those in node_marks.tsx.

import { compactCount } from '../base/format';
import type { NodeMarkProps } from './node_marks';

function mark(name: string): HTMLSpanElement {
  const span = document.createElement('span');
  span.className = name;
  return span;
}

export function markElements({ hits, watched, current, implied = false }: NodeMarkProps): HTMLElement[] {
  const marks: HTMLElement[] = [];
  if (current) marks.push(mark('current-arrow'));
  if (watched !== 'none') marks.push(mark(`watch-dot watch-${watched}${implied ? ' watch-faint' : ''}`));
  if (hits > 0) {
    const badge = mark('hit-badge');
    badge.dataset['count'] = compactCount(hits);
    marks.push(badge);
  }
  return marks;
}
