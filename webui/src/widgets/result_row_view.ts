// The element of one search result: the label, and below it the path. It is written directly, since
// every key changes all rows.

import type { GraphNode } from '../api/types';
import { fileName, fitPath } from '../base/names';
import { visible } from '../base/visible';
import { foundIn } from '../words/graph';
import { markElements } from './node_mark_elements';

export const RESULT_PX = 40;
// The width of a character of the path, and what is beside the path.
const CHARACTER_PX = 6.9;
const MARGINS_PX = 48;

export interface ShownResult {
  node: GraphNode;
  index: number;
  marked: boolean;
  current: boolean;
  hits: number;
  // The part of the name to highlight.
  word: string;
  // The width of the row.
  width: number;
}

function part(tag: string, name: string): HTMLElement {
  const element = document.createElement(tag);
  element.className = name;
  return element;
}

// The text with [from, to) highlighted; the range may extend beyond the text.
function pieces(text: string, from: number, to: number): Array<string | HTMLElement> {
  const [begin, end] = [Math.max(0, from), Math.min(text.length, to)];
  if (begin >= end) return text === '' ? [] : [text];
  const mark = document.createElement('mark');
  mark.textContent = text.slice(begin, end);
  return [text.slice(0, begin), mark, text.slice(end)];
}

export class ResultRowView {
  readonly element = part('div', 'result');
  private readonly icon = part('span', 'kind-icon');
  private readonly label = part('span', 'result-label mono');
  // Where the code was found that matched.
  private readonly code = part('span', 'result-code mono muted');
  private readonly marks = part('span', 'node-marks');
  private readonly path = part('span', 'result-path mono muted');
  shown: ShownResult | null = null;

  constructor() {
    const line = part('span', 'result-line');
    line.append(this.label, this.code);
    const text = part('span', 'result-text grow');
    text.append(line, this.path);
    // The accessible name is the full name.
    for (const element of [this.icon, this.path, this.code]) element.setAttribute('aria-hidden', 'true');
    this.marks.setAttribute('aria-hidden', 'true');
    this.element.setAttribute('role', 'option');
    this.element.append(this.icon, text, this.marks);
  }

  show(next: ShownResult): void {
    const last = this.shown;
    this.shown = next;
    const { node, index, marked, word } = next;
    if (last?.index !== index) this.element.style.transform = `translateY(${index * RESULT_PX}px)`;
    if (last?.marked !== marked) this.element.setAttribute('aria-selected', `${marked}`);
    if (last?.node.name !== node.name || last.node.match !== node.match) {
      this.element.setAttribute('aria-label', node.name);
      const { match } = node;
      const code = (match?.text ?? '') || (match?.function ?? '');
      const found = match === undefined ? '' : foundIn(`${fileName(match.file)}:${match.line}`, code.trim());
      this.code.textContent = found;
      if (found === '') this.element.removeAttribute('aria-description');
      else this.element.setAttribute('aria-description', found);
      this.element.title = found === '' ? node.name : `${node.name}\n${found}`;
      this.icon.className = `kind-icon kind-${node.kind} cat-${node.category}`;
    }
    if (last?.node.name !== node.name || last.word !== word || last.width !== next.width) this.write(next);
    this.mark(next, last);
  }

  private write({ node, word, width }: ShownResult): void {
    const name = visible(node.name);
    const cut = name.lastIndexOf('/') + 1;
    const at = word === '' ? -1 : name.toLowerCase().indexOf(word.toLowerCase());
    const end = at < 0 ? at : at + word.length;
    this.label.replaceChildren(...pieces(name.slice(cut), at - cut, end - cut));
    const path = name.slice(0, Math.max(0, cut - 1));
    const fitted = fitPath(path, Math.floor((width - MARGINS_PX) / CHARACTER_PX));
    // In an abbreviated path, the match may be elsewhere or gone.
    const from = fitted === path ? at : fitted.toLowerCase().indexOf(word.toLowerCase());
    const to = fitted === path ? end : from + word.length;
    const matches = at >= 0 && at < cut && from >= 0;
    this.path.replaceChildren(...(matches ? pieces(fitted, from, to) : [fitted]));
  }

  private mark({ node, hits, current }: ShownResult, last: ShownResult | null): void {
    const same = last?.hits === hits && last.current === current && last.node.watched === node.watched;
    if (!same) this.marks.replaceChildren(...markElements({ hits, watched: node.watched, current }));
  }
}
