// The element of one line in the list of hits: a hit, or the heading of a step. It is
// written directly, for the virtualizer.

import type { Hit } from '../api/types';
import * as words from '../words/hits';
import { fullNameElement } from './full_name_element';

export const HIT_PX = 42;
export const STEP_PX = 24;

export interface ShownHit {
  kind: 'hit';
  top: number;
  hit: Hit;
  // The measured value, and the title of the condition.
  actual: string;
  condition: string;
  selected: boolean;
  showRank: boolean;
}

export interface ShownStep {
  kind: 'step';
  top: number;
  step: number;
  hits: string;
}

export type ShownHitLine = ShownHit | ShownStep;

function part(name: string, ...children: Array<string | HTMLElement>): HTMLElement {
  const element = document.createElement('span');
  element.className = name;
  element.append(...children);
  return element;
}

function detailOf({ hit, actual, condition }: ShownHit): HTMLElement {
  const detail = document.createElement('div');
  detail.className = 'hit-detail ellipsis';
  if (hit.error) {
    detail.append(part('hit-error', hit.error));
    return detail;
  }
  detail.append(part('hit-actual mono', actual), part('muted', ` · ${condition}`));
  if (hit.origin === 'propagated') detail.append(part('muted', ` · ${words.propagated}`));
  if (hit.absorbed) detail.append(part('muted', ` · ${words.absorbed}`));
  return detail;
}

function hitParts(line: ShownHit): HTMLElement[] {
  const { hit, showRank } = line;
  const name = hit.slot === 0 ? hit.node : `${hit.node}:${hit.slot}`;
  const parts = [part('hit-node', fullNameElement(name), detailOf(line))];
  if (showRank) {
    const rank = part('hit-rank mono', `r${hit.rank}`);
    rank.title = words.rank(hit.rank);
    parts.push(rank);
  }
  if (hit.origin === 'origin') {
    const origin = part('hit-origin', words.origin);
    origin.title = words.originHint;
    parts.push(origin);
  }
  return parts;
}

function sameHit(a: ShownHit, b: ShownHitLine | null): boolean {
  return (
    b?.kind === 'hit' &&
    a.hit === b.hit &&
    a.actual === b.actual &&
    a.condition === b.condition &&
    a.showRank === b.showRank
  );
}

export class HitRowView {
  readonly element = document.createElement('div');
  shown: ShownHitLine | null = null;

  show(line: ShownHitLine): void {
    const last = this.shown;
    this.shown = line;
    if (last?.top !== line.top) this.element.style.transform = `translateY(${line.top}px)`;
    if (line.kind === 'step') this.showStep(line, last);
    else this.showHit(line, last);
  }

  private showStep({ step, hits }: ShownStep, last: ShownHitLine | null): void {
    if (last?.kind !== 'step') {
      this.element.className = 'hit-heading';
      this.element.setAttribute('role', 'presentation');
      this.element.removeAttribute('aria-selected');
      this.element.removeAttribute('title');
    }
    if (last?.kind === 'step' && last.step === step && last.hits === hits) return;
    this.element.replaceChildren(`${words.step(step)} `, part('muted', hits));
  }

  private showHit(line: ShownHit, last: ShownHitLine | null): void {
    if (last?.kind !== 'hit') {
      this.element.className = 'hit-row';
      this.element.setAttribute('role', 'option');
    }
    if (last?.kind !== 'hit' || last.selected !== line.selected) {
      this.element.setAttribute('aria-selected', `${line.selected}`);
    }
    if (sameHit(line, last)) return;
    this.element.title = line.hit.message === null ? line.hit.node : `${line.hit.node}\n${line.hit.message}`;
    this.element.replaceChildren(...hitParts(line));
  }
}
