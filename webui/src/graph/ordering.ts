// Orders the items of each row: barycentre sweeps, then exchanges of neighbours. The order with the
// fewest crossings is kept.

import type { Adjacency } from './adjacency';
import type { Items } from './items';

const SWEEPS = 8;
const EXCHANGES = 6;
// Rows up to this length are sorted by insertion, because they are usually almost in order.
const SHORT_ROW = 48;

type Rows = Pick<Items, 'rowStart' | 'order'>;

function positionsOf({ rowStart, order }: Rows, count: number): Int32Array {
  const position = new Int32Array(count);
  for (let row = 0; row + 1 < rowStart.length; row += 1) {
    const begin = rowStart[row] as number;
    for (let i = begin; i < (rowStart[row + 1] as number); i += 1) position[order[i] as number] = i - begin;
  }
  return position;
}

// Sorts the first `length` values in place; fast if they are few or almost in order.
function sortShort(values: Int32Array, length: number): void {
  for (let i = 1; i < length; i += 1) {
    const value = values[i] as number;
    let j = i - 1;
    for (; j >= 0 && (values[j] as number) > value; j -= 1) values[j + 1] = values[j] as number;
    values[j + 1] = value;
  }
}

// Counts crossings. Its buffers are reused within one layout.
class Counter {
  private ends: Int32Array = new Int32Array(64);
  private tree: Int32Array = new Int32Array(64);

  // Crossings between two rows: inversions among the lower ends of edges sorted by upper end.
  between(order: Int32Array, begin: number, end: number, width: number, down: Adjacency, position: Int32Array): number {
    let count = 0;
    for (let i = begin; i < end; i += 1) {
      const item = order[i] as number;
      const first = down.start[item] as number;
      const degree = (down.start[item + 1] as number) - first;
      if (count + degree > this.ends.length) this.grow(count + degree);
      const slice = this.ends.subarray(count, count + degree);
      for (let k = 0; k < degree; k += 1) slice[k] = position[down.others[first + k] as number] as number;
      if (degree > 1) {
        if (degree <= SHORT_ROW) sortShort(slice, degree);
        else slice.sort();
      }
      count += degree;
    }
    return this.inversions(count, width);
  }

  private inversions(count: number, width: number): number {
    if (width + 1 > this.tree.length) this.tree = new Int32Array(2 * width + 2);
    const { tree, ends } = this;
    tree.fill(0, 0, width + 1);
    let crossings = 0;
    for (let seen = 0; seen < count; seen += 1) {
      const place = (ends[seen] as number) + 1;
      let notAfter = 0;
      for (let i = place; i > 0; i -= i & -i) notAfter += tree[i] as number;
      crossings += seen - notAfter;
      for (let i = place; i <= width; i += i & -i) tree[i]! += 1;
    }
    return crossings;
  }

  private grow(size: number): void {
    const larger = new Int32Array(2 * size);
    larger.set(this.ends);
    this.ends = larger;
  }
}

export function countCrossings(rows: Rows, down: Adjacency, position: Int32Array, counter = new Counter()): number {
  const { rowStart, order } = rows;
  let total = 0;
  for (let row = 0; row + 2 < rowStart.length; row += 1) {
    const width = (rowStart[row + 2] as number) - (rowStart[row + 1] as number);
    total += counter.between(order, rowStart[row] as number, rowStart[row + 1] as number, width, down, position);
  }
  return total;
}

// Sorts a row by the mean position of each item's neighbours. Items without any keep their position.
function sweepRow(order: Int32Array, near: Adjacency, position: Int32Array, wanted: Float64Array): void {
  for (const item of order) {
    const begin = near.start[item] as number;
    const end = near.start[item + 1] as number;
    let sum = 0;
    for (let i = begin; i < end; i += 1) sum += position[near.others[i] as number] as number;
    wanted[item] = begin === end ? (position[item] as number) : sum / (end - begin);
  }
  if (order.length <= SHORT_ROW) {
    for (let i = 1; i < order.length; i += 1) {
      const item = order[i] as number;
      const key = wanted[item] as number;
      let j = i - 1;
      for (; j >= 0 && (wanted[order[j] as number] as number) > key; j -= 1) order[j + 1] = order[j] as number;
      order[j + 1] = item;
    }
  } else {
    order.sort((a, b) => (wanted[a] as number) - (wanted[b] as number) || (position[a] as number) - (position[b] as number));
  }
  order.forEach((item, place) => (position[item] = place));
}

// Returns how many crossings with one adjacent row are saved by exchanging `a` with `b`, the item to
// its right. Neighbour lists must be sorted by position.
function gain(a: number, b: number, near: Adjacency, position: Int32Array): number {
  const endA = near.start[a + 1] as number;
  const endB = near.start[b + 1] as number;
  const beginA = near.start[a] as number;
  const beginB = near.start[b] as number;
  let now = 0;
  let then = 0;
  // Pairs with a's end right of b's cross now; pairs with it left would cross then.
  let low = beginB;
  let equal = beginB;
  for (let i = beginA; i < endA; i += 1) {
    const place = position[near.others[i] as number] as number;
    while (low < endB && (position[near.others[low] as number] as number) < place) low += 1;
    if (equal < low) equal = low;
    while (equal < endB && (position[near.others[equal] as number] as number) === place) equal += 1;
    now += low - beginB;
    then += endB - equal;
  }
  return now - then;
}

function sortNeighbours(order: Int32Array, near: Adjacency, position: Int32Array): void {
  for (const item of order) {
    const list = near.others.subarray(near.start[item], near.start[item + 1]);
    if (list.length < 2) continue;
    if (list.length > SHORT_ROW) {
      list.sort((a, b) => (position[a] as number) - (position[b] as number));
      continue;
    }
    for (let i = 1; i < list.length; i += 1) {
      const other = list[i] as number;
      const place = position[other] as number;
      let j = i - 1;
      for (; j >= 0 && (position[list[j] as number] as number) > place; j -= 1) list[j + 1] = list[j] as number;
      list[j + 1] = other;
    }
  }
}

// Exchanges neighbours in a row while that saves crossings. Returns whether the row changed.
function exchangeRow(order: Int32Array, items: Items, position: Int32Array): boolean {
  if (order.length < 2) return false;
  sortNeighbours(order, items.up, position);
  sortNeighbours(order, items.down, position);
  let changed = false;
  for (let again = true, rounds = 0; again && rounds < EXCHANGES; rounds += 1) {
    again = false;
    for (let i = 0; i + 1 < order.length; i += 1) {
      const a = order[i] as number;
      const b = order[i + 1] as number;
      if (gain(a, b, items.up, position) + gain(a, b, items.down, position) <= 0) continue;
      order[i] = b;
      order[i + 1] = a;
      position[b] = i;
      position[a] = i + 1;
      again = true;
      changed = true;
    }
  }
  return changed;
}

function exchangeAll(items: Items, rows: Rows, position: Int32Array): void {
  const count = rows.rowStart.length - 1;
  const rowAt = (row: number) => rows.order.subarray(rows.rowStart[row], rows.rowStart[row + 1]);
  for (let round = 0, changed = true; changed && round < EXCHANGES; round += 1) {
    changed = false;
    for (let i = 0; i < count; i += 1) {
      const row = round % 2 === 0 ? i : count - 1 - i;
      changed = exchangeRow(rowAt(row), items, position) || changed;
    }
  }
}

// Returns the items of each row in the order of a walk along the edges, which keeps connected items
// together.
function walkOrder(items: Items): Int32Array {
  const { rowStart, down, up } = items;
  const next = rowStart.slice(0, -1);
  const order = new Int32Array(items.count);
  const visited = new Uint8Array(items.count);
  const stack: number[] = [];
  const push = (near: Adjacency, item: number) => {
    for (let i = (near.start[item + 1] as number) - 1; i >= (near.start[item] as number); i -= 1) {
      const other = near.others[i] as number;
      if (!visited[other]) stack.push(other);
    }
  };
  for (let first = 0; first < items.count; first += 1) {
    stack.push(first);
    for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
      if (visited[item]) continue;
      visited[item] = 1;
      const row = items.layer[item] as number;
      order[next[row] as number] = item;
      next[row]! += 1;
      // A stack: items below are visited before items above.
      push(up, item);
      push(down, item);
    }
  }
  return order;
}

// Larger graphs are improved from one starting order only, to save time.
const TWO_STARTS_ITEMS = 6000;

// Improves an order by sweeps and exchanges; returns the best one and its number of crossings.
function improve(items: Items, start: Int32Array): { order: Int32Array; crossings: number } {
  const counter = new Counter();
  const rows: Rows = { rowStart: items.rowStart, order: start.slice() };
  const position = positionsOf(rows, items.count);
  const wanted = new Float64Array(items.count);
  const count = rows.rowStart.length - 1;
  const rowAt = (row: number) => rows.order.subarray(rows.rowStart[row], rows.rowStart[row + 1]);
  const best = { order: start, crossings: countCrossings(rows, items.down, position, counter) };
  const keep = () => {
    const crossings = countCrossings(rows, items.down, position, counter);
    if (crossings >= best.crossings) return false;
    best.crossings = crossings;
    best.order = rows.order.slice();
    return true;
  };
  let stale = 0;
  for (let sweep = 0; sweep < SWEEPS && stale < 4; sweep += 1) {
    if (best.crossings === 0) return best;
    if (sweep % 2 === 0) {
      for (let i = 1; i < count; i += 1) sweepRow(rowAt(i), items.up, position, wanted);
    } else {
      for (let i = count - 2; i >= 0; i -= 1) sweepRow(rowAt(i), items.down, position, wanted);
    }
    stale = keep() ? 0 : stale + 1;
  }
  rows.order.set(best.order);
  position.set(positionsOf(rows, items.count));
  exchangeAll(items, rows, position);
  keep();
  return best;
}

export function orderLayers(items: Items): void {
  const first = improve(items, items.order);
  items.order = first.order;
  if (first.crossings === 0 || items.count > TWO_STARTS_ITEMS) return;
  const second = improve(items, walkOrder(items));
  if (second.crossings < first.crossings) items.order = second.order;
}
