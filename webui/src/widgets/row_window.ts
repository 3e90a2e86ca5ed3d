// The list virtualizer: creates elements only for the rows in view. It works outside React
// and recycles elements, since the tree must scroll through 100,000 rows at full frame rate
// (rows 8 and 9 in webui/docs/performance.md).

import { useLayoutEffect, useRef, type RefObject } from 'react';

// Number of rows created above and below those in view.
const OVERSCAN = 4;

// An element that can show any row, at the row's position.
export interface RowView<Row> {
  element: HTMLElement;
  shown: Row | null;
  show(row: Row): void;
}

export interface RowKind<Row> {
  // The height of every row, or the smallest one if the content has `tops`.
  height: number;
  make(): RowView<Row>;
}

// The rows by index.
export interface RowContent<Row> {
  count: number;
  // For rows of different heights: the top of each row, followed by the total height.
  tops?: Float64Array;
  // The row that has the focus, which exists even while scrolled out of view; -1 if none.
  active: number;
  at(index: number): Row;
}

export class RowWindow<Row> {
  private content: RowContent<Row> | null = null;
  private views: RowView<Row>[] = [];
  // Shows the active row while it is out of view.
  private readonly away: RowView<Row>;
  private first = 0;
  private top = 0;
  private height = 0;
  private total = 0;

  constructor(
    private readonly scroller: HTMLElement,
    private readonly host: HTMLElement,
    private readonly kind: RowKind<Row>,
  ) {
    this.away = kind.make();
    this.measure();
  }

  show(content: RowContent<Row>): void {
    this.content = content;
    const total = this.topOf(content.count);
    if (total !== this.total) this.host.style.height = `${total}px`;
    this.total = total;
    // With fewer rows, the browser may have reduced the scroll position.
    this.top = this.scroller.scrollTop;
    this.draw();
  }

  // Must be called when the scroller's height changes.
  readonly measure = (): void => {
    const active = this.content?.active ?? -1;
    const wasInView = this.isInView(active);
    this.height = this.scroller.clientHeight;
    const count = Math.ceil(this.height / this.kind.height) + 2 * OVERSCAN + 1;
    if (this.views.length !== count) {
      for (const view of this.views) view.element.remove();
      this.views = Array.from({ length: count }, () => this.kind.make());
      this.draw();
    }
    // Keeps the active row in view when a panel opens below the list.
    if (wasInView && !this.isInView(active)) this.reveal(active);
  };

  clear(): void {
    this.host.replaceChildren();
  }

  readonly scrolled = (): void => {
    this.top = this.scroller.scrollTop;
    this.draw();
  };

  // Scrolls as little as needed to bring the row into view.
  reveal(index: number): void {
    const lowest = this.topOf(index);
    const highest = this.topOf(index + 1) - this.height;
    const wanted = Math.min(lowest, Math.max(highest, this.scroller.scrollTop));
    if (wanted === this.scroller.scrollTop) return;
    this.scroller.scrollTop = wanted;
    this.scrolled();
  }

  // The row that contains the element.
  rowOf(element: Element): Row | null {
    return [...this.views, this.away].find((view) => view.element.contains(element))?.shown ?? null;
  }

  // The row at a distance from the top of the list.
  indexAt(offset: number): number {
    const { tops, count = 0 } = this.content ?? {};
    if (tops === undefined) return Math.floor(offset / this.kind.height);
    let [low, high] = [0, Math.max(0, count - 1)];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((tops[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private topOf(index: number): number {
    const tops = this.content?.tops;
    return tops === undefined ? index * this.kind.height : (tops[index] as number);
  }

  private isInView(index: number): boolean {
    if (index < 0) return false;
    const { scrollTop } = this.scroller;
    return this.topOf(index) >= scrollTop && this.topOf(index + 1) <= scrollTop + this.height;
  }

  private draw(): void {
    const { content, views } = this;
    if (content === null) return;
    const last = Math.max(0, content.count - views.length);
    const first = Math.max(0, Math.min(this.indexAt(this.top) - OVERSCAN, last));
    this.rotate(first - this.first);
    this.first = first;
    views.forEach((view, i) => this.put(content, view, first + i));
    const { active } = content;
    const inside = active < 0 || (active >= first && active < first + views.length);
    this.put(content, this.away, inside ? content.count : active);
    if (!inside && active < first && content.count > 0) this.host.prepend(this.away.element);
  }

  // Moves elements so that their order in the document stays that of the rows, which screen
  // readers need. If all elements get new rows, none has to move.
  private rotate(by: number): void {
    const { views, host } = this;
    if (by > 0 && by < views.length) {
      const moved = views.splice(0, by);
      views.push(...moved);
      host.append(...moved.map((view) => view.element));
    } else if (by < 0 && -by < views.length) {
      const moved = views.splice(by);
      views.unshift(...moved);
      host.prepend(...moved.map((view) => view.element));
    }
  }

  private put(content: RowContent<Row>, view: RowView<Row>, index: number): void {
    const { element } = view;
    if (index >= content.count) {
      if (element.isConnected) element.remove();
      return;
    }
    view.show(content.at(index));
    if (!element.isConnected) this.host.append(element);
  }
}

// A RowWindow that follows the scroller's position and size.
export function useRowWindow<Row>(
  scroller: RefObject<HTMLElement | null>,
  host: RefObject<HTMLElement | null>,
  kind: RowKind<Row>,
): RefObject<RowWindow<Row> | null> {
  const rows = useRef<RowWindow<Row> | null>(null);
  useLayoutEffect(() => {
    const target = scroller.current;
    if (target === null || host.current === null) return undefined;
    const made = new RowWindow(target, host.current, kind);
    rows.current = made;
    target.addEventListener('scroll', made.scrolled, { passive: true });
    const observer = new ResizeObserver(made.measure);
    observer.observe(target);
    return () => {
      target.removeEventListener('scroll', made.scrolled);
      observer.disconnect();
      made.clear();
    };
  }, [scroller, host, kind]);
  return rows;
}
