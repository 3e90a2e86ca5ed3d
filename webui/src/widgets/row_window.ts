// The rows of a long list that are in view, outside React. They are recycled: a row that
// scrolls out of view becomes the one that scrolls into it.

import { useLayoutEffect, useRef, type RefObject } from 'react';

// Rows made above and below those in view.
const OVERSCAN = 4;

// An element that can show any row, at its place.
export interface RowView<Row> {
  element: HTMLElement;
  shown: Row | null;
  show(row: Row): void;
}

export interface RowKind<Row> {
  height: number;
  make(): RowView<Row>;
}

// What rows show, by their places.
export interface RowContent<Row> {
  count: number;
  // The row that has the focus: it exists, even if it is scrolled away.
  active: number;
  at(index: number): Row;
}

export class RowWindow<Row> {
  private content: RowContent<Row> | null = null;
  private views: RowView<Row>[] = [];
  private readonly away: RowView<Row>;
  private first = 0;
  private top = 0;
  private height = 0;

  constructor(
    private readonly scroller: HTMLElement,
    private readonly host: HTMLElement,
    private readonly kind: RowKind<Row>,
  ) {
    this.away = kind.make();
    this.measure();
  }

  show(content: RowContent<Row>): void {
    if (content.count !== this.content?.count) this.host.style.height = `${content.count * this.kind.height}px`;
    this.content = content;
    // Fewer rows may leave less to scroll.
    this.top = this.scroller.scrollTop;
    this.draw();
  }

  // The scroller has another height.
  readonly measure = (): void => {
    const { active } = this.content ?? { active: 0 };
    const wasInView = this.isInView(active);
    this.height = this.scroller.clientHeight;
    const least = Math.ceil(this.height / this.kind.height) + 2 * OVERSCAN + 1;
    if (this.views.length !== least) {
      for (const view of this.views) view.element.remove();
      this.views = Array.from({ length: least }, () => this.kind.make());
      this.draw();
    }
    // A panel that opens below hides no row with the focus.
    if (wasInView && !this.isInView(active)) this.reveal(active);
  };

  private isInView(index: number): boolean {
    const top = index * this.kind.height - this.scroller.scrollTop;
    return top >= 0 && top + this.kind.height <= this.height;
  }

  clear(): void {
    this.host.replaceChildren();
  }

  readonly scrolled = (): void => {
    this.top = this.scroller.scrollTop;
    this.draw();
  };

  // Scrolls no further than it must.
  reveal(index: number): void {
    const top = index * this.kind.height;
    const least = top + this.kind.height - this.height;
    const wanted = Math.min(top, Math.max(least, this.scroller.scrollTop));
    if (wanted === this.scroller.scrollTop) return;
    this.scroller.scrollTop = wanted;
    this.scrolled();
  }

  // The row that holds this element.
  rowOf(element: Element): Row | null {
    return [...this.views, this.away].find((view) => view.element.contains(element))?.shown ?? null;
  }

  private draw(): void {
    const { content, views } = this;
    if (content === null) return;
    const last = Math.max(0, content.count - views.length);
    const first = Math.max(0, Math.min(Math.floor(this.top / this.kind.height) - OVERSCAN, last));
    this.turn(first - this.first);
    this.first = first;
    views.forEach((view, i) => this.put(content, view, first + i));
    const { active } = content;
    const inside = active >= first && active < first + views.length;
    this.put(content, this.away, inside ? content.count : active);
    if (active < first && content.count > 0) this.host.prepend(this.away.element);
  }

  // Rows keep the order of what they show, for those who have them read out; where all
  // of them come to show other nodes, none is moved.
  private turn(by: number): void {
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

// Follows the scroller's place and size by itself.
export function useRowWindow<Row>(
  scroller: RefObject<HTMLElement | null>,
  host: RefObject<HTMLElement | null>,
  kind: RowKind<Row>,
): RefObject<RowWindow<Row> | null> {
  const shown = useRef<RowWindow<Row> | null>(null);
  useLayoutEffect(() => {
    const target = scroller.current;
    if (target === null || host.current === null) return undefined;
    const made = new RowWindow(target, host.current, kind);
    shown.current = made;
    target.addEventListener('scroll', made.scrolled, { passive: true });
    const observer = new ResizeObserver(made.measure);
    observer.observe(target);
    return () => {
      target.removeEventListener('scroll', made.scrolled);
      observer.disconnect();
      made.clear();
    };
  }, [scroller, host, kind]);
  return shown;
}
