// The element of one row. It is written directly: while the tree is scrolled, elements get
// new rows a thousand times per second, and only changed attributes are written.

import { fitPath } from '../base/names';
import { visible } from '../base/visible';
import type { Tick } from '../state/ticks';
import { watched } from '../words/common';
import * as counts from '../words/counts';
import { currentNode, loadFailed } from '../words/graph';
import { markElements } from './node_mark_elements';
import type { TreeRow } from './tree_rows';

export const ROW_PX = 24;
const INDENT_PX = 14;
// Of a path at the end of the row.
const PATH_CHARACTERS = 12;
const ARIA_CHECKED = { all: 'true', some: 'mixed', none: 'false' } as const;

export interface ShownRow {
  row: TreeRow;
  index: number;
  // Null for all rows except the one that has the focus, which needs an id.
  id: string | null;
  selected: boolean;
  current: boolean;
  hits: number;
  // Null if the tree has no tick boxes.
  tick: Tick | null;
}

function part(name: string): HTMLSpanElement {
  const span = document.createElement('span');
  span.className = name;
  span.setAttribute('aria-hidden', 'true');
  return span;
}

export class TreeRowView {
  readonly element = document.createElement('div');
  private readonly chevron = part('tree-chevron');
  private readonly tick = part('tree-tick');
  private readonly icon = part('kind-icon');
  private readonly label = part('tree-label mono');
  private readonly type = part('tree-type');
  private readonly path = part('tree-path mono');
  private readonly marks = part('tree-marks node-marks');
  private readonly written = new Map<string, string | null>();
  private readonly attached = new Set<Element>();
  shown: ShownRow | null = null;

  constructor() {
    this.element.setAttribute('role', 'treeitem');
    this.label.removeAttribute('aria-hidden');
    this.element.append(this.chevron, this.icon, this.label);
  }

  show(next: ShownRow): void {
    this.shown = next;
    const { row, index, id, selected, current, hits, tick } = next;
    const { node, level } = row;
    const type = typeOf(row);
    this.attribute('id', id);
    this.attribute('aria-label', node.label);
    this.attribute('aria-level', `${level}`);
    this.attribute('aria-posinset', `${row.position}`);
    this.attribute('aria-setsize', `${row.siblings}`);
    this.attribute('aria-selected', `${selected}`);
    this.attribute('aria-checked', tick === null ? null : ARIA_CHECKED[tick]);
    this.attribute('aria-expanded', row.open === null ? null : `${row.open}`);
    this.attribute('aria-current', current ? 'true' : null);
    this.attribute('aria-description', descriptionOf(row, type, hits, current));
    this.attribute('class', id === null ? 'tree-row' : 'tree-row tree-row-active');
    this.attribute('title', row.name);
    this.style('transform', `translateY(${index * ROW_PX}px)`);
    this.style('padding-left', `${6 + (level - 1) * INDENT_PX}px`);
    this.name(this.chevron, chevronOf(row));
    this.name(this.icon, `kind-icon kind-${node.kind} cat-${node.category}`);
    const cut = pathLength(row);
    const label = node.label.slice(cut);
    if (this.changes('label', label)) this.label.textContent = visible(label);
    // Shown by the style sheet, since they are not part of the row's accessible name.
    if (this.changes('type', type)) this.type.dataset['text'] = visible(type);
    this.place(this.type, type !== '');
    const path = fitPath(node.label.slice(0, Math.max(0, cut - 1)), PATH_CHARACTERS);
    if (this.changes('path', path)) this.path.dataset['text'] = visible(path);
    this.place(this.path, path !== '');
    if (tick !== null) this.name(this.tick, `tree-tick tree-tick-${tick}`);
    this.place(this.tick, tick !== null);
    this.mark(next);
  }

  private mark({ row, hits, current }: ShownRow): void {
    const { watched } = row.node;
    const marked = current || hits > 0 || watched !== 'none';
    const now = marked ? `${current} ${hits} ${watched} ${row.implied}` : '';
    if (this.changes('marks', now)) {
      this.marks.replaceChildren(...markElements({ hits, watched, current, implied: row.implied }));
    }
    this.place(this.marks, marked);
  }

  // Records the value; returns true if it has changed.
  private changes(what: string, value: string | null): boolean {
    if (this.written.get(what) === value) return false;
    this.written.set(what, value);
    return true;
  }

  private attribute(name: string, value: string | null): void {
    if (!this.changes(name, value)) return;
    if (value === null) this.element.removeAttribute(name);
    else this.element.setAttribute(name, value);
  }

  private style(property: string, value: string): void {
    if (this.changes(property, value)) this.element.style.setProperty(property, value);
  }

  private name(child: HTMLElement, value: string): void {
    if (child.className !== value) child.className = value;
  }

  // Adds or removes a part that not every row has.
  private place(child: HTMLElement, wanted: boolean): void {
    if (this.attached.has(child) === wanted) return;
    if (!wanted) {
      this.attached.delete(child);
      child.remove();
      return;
    }
    this.attached.add(child);
    if (child === this.tick) this.chevron.after(child);
    else if (child === this.type) this.label.after(child);
    else if (child === this.path && this.attached.has(this.marks)) this.marks.after(child);
    else this.element.prepend(child);
  }
}

// The part of the label that is a path. It is shown at the end of the row, apart from the name, so that
// neither hides the other.
function pathLength({ node }: TreeRow): number {
  return node.kind === 'scope' || node.kind === 'aggregate' ? 0 : node.label.lastIndexOf('/') + 1;
}

function chevronOf({ open, note }: TreeRow): string {
  if (open === null) return 'tree-chevron';
  if (note === 'loading') return 'tree-chevron tree-chevron-busy';
  return open ? 'tree-chevron tree-chevron-button tree-chevron-open' : 'tree-chevron tree-chevron-button';
}

function typeOf({ node, note }: TreeRow): string {
  if (note === 'failed') return loadFailed;
  if (node.kind === 'scope') return node.op_type;
  if (node.title !== undefined && node.kind === 'op') return node.label.startsWith(node.title) ? '' : node.title;
  if (node.detail !== undefined) return node.detail;
  if (node.kind === 'aggregate') return `×${node.child_count} ${node.op_type}`.trim();
  return node.kind === 'op' ? '' : node.kind;
}

// A description of the marks beside the label, for screen readers.
function descriptionOf({ node }: TreeRow, type: string, hits: number, current: boolean): string {
  const parts = [type];
  if (current) parts.push(currentNode);
  if (node.watched !== 'none') parts.push(watched[node.watched]);
  if (hits > 0) parts.push(counts.hits(hits));
  return parts.filter((text) => text !== '').join(', ');
}
