// The ops of a graph in the order in which they execute, for the timeline.

import type { Category } from '../api/types';
import { NONE, type GraphIndex } from '../index/graph_index';
import { isBad, type HealthLookup } from '../graph/health_colours';
import { phaseOf } from '../graph/phase';

// Consecutive ops of one phase.
export interface Phase {
  name: string;
  category: Category;
  begin: number;
  end: number;
}

export interface Execution {
  // By place: the item.
  items: Uint32Array;
  // By node: its place, or NONE.
  places: Uint32Array;
  phases: Phase[];
}

// By scope: the outermost scope that contains it.
function outermost(index: GraphIndex): Uint32Array {
  const roots = new Uint32Array(index.scopeCount);
  for (let scope = 1; scope < index.scopeCount; scope += 1) {
    const parent = index.parent(scope);
    roots[scope] = parent === 0 ? scope : (roots[parent] as number);
  }
  return roots;
}

export function executionOf(index: GraphIndex): Execution {
  const order = index.arrays.columns['execution'] ?? new Uint32Array();
  const items = Uint32Array.from(order, (node) => index.scopeCount + node);
  const places = new Uint32Array(index.nodeCount).fill(NONE);
  const roots = outermost(index);
  const phases: Phase[] = [];
  items.forEach((item, place) => {
    places[item - index.scopeCount] = place;
    const root = roots[index.parent(item)] as number;
    const name = root === 0 ? '' : index.label(root);
    const category = phaseOf(name);
    const last = phases.at(-1);
    if (category === null) return;
    if (last !== undefined && last.name === name && last.end === place) last.end = place + 1;
    else phases.push({ name, category, begin: place, end: place + 1 });
  });
  return { items, places, phases };
}

// What one column of pixels shows: the worst of the ops in it.
export interface Columns {
  // From 0 to 1; NaN if nothing is known.
  shares: Float32Array;
  // 1: NaN or infinity; 2: hits; 3: both.
  marks: Uint8Array;
}

const BAD = 1;
const HIT = 2;

export function columnsOf({ items }: Execution, width: number, health: Pick<HealthLookup, 'ofItem'> | null, hits: ReadonlySet<number>): Columns {
  const shares = new Float32Array(width).fill(NaN);
  const marks = new Uint8Array(width);
  const fill = (place: number, from: number, to: number) => {
    const item = items[place] as number;
    const found = health?.ofItem(item) ?? null;
    const mark = (found !== null && isBad(found) ? BAD : 0) | (hits.has(item) ? HIT : 0);
    for (let x = from; x < to; x += 1) {
      marks[x] = (marks[x] as number) | mark;
      const share = found?.share ?? NaN;
      if (share > (shares[x] as number) || Number.isNaN(shares[x])) shares[x] = share;
    }
  };
  for (let place = 0; place < items.length; place += 1) {
    const from = Math.floor((place * width) / items.length);
    fill(place, from, Math.max(from + 1, Math.floor(((place + 1) * width) / items.length)));
  }
  return { shares, marks };
}

export const columnIsBad = (columns: Columns, x: number): boolean => ((columns.marks[x] as number) & BAD) !== 0;
export const columnHasHit = (columns: Columns, x: number): boolean => ((columns.marks[x] as number) & HIT) !== 0;

// The place at a position from 0 to 1. Of several ops in one column of pixels, the one that is
// marked.
export function placeAt(execution: Execution, share: number, width: number, isMarked: (item: number) => boolean): number {
  const { items } = execution;
  const x = Math.min(width - 1, Math.max(0, Math.floor(share * width)));
  const from = Math.min(items.length - 1, Math.floor((x * items.length) / width));
  const to = Math.min(items.length, Math.max(from + 1, Math.floor(((x + 1) * items.length) / width)));
  for (let place = from; place < to; place += 1) if (isMarked(items[place] as number)) return place;
  return from;
}

// The next marked place in a direction, or the present one if there is none.
export function nextMarked({ items }: Execution, place: number, by: 1 | -1, isMarked: (item: number) => boolean): number {
  for (let at = place + by; at >= 0 && at < items.length; at += by) {
    if (isMarked(items[at] as number)) return at;
  }
  return place;
}
