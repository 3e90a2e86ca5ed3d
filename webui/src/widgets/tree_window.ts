// The rows of a tree that are in view. They are recycled: a row that scrolls out of view
// becomes the one that scrolls into it.

import { ROW_PX, TreeRowView, type ShownRow } from './tree_row_view';

// Rows made above and below those in view.
const OVERSCAN = 4;

// What a row shows, by its place among all rows.
export interface TreeContent {
  count: number;
  // The row that has the focus: it exists, even if it is scrolled away.
  active: number;
  at(index: number): ShownRow;
}

export class TreeWindow {
  private content: TreeContent | null = null;
  private views: TreeRowView[] = [];
  private readonly away = new TreeRowView();
  private first = 0;
  private top = 0;
  private height = 0;

  constructor(
    private readonly scroller: HTMLElement,
    private readonly host: HTMLElement,
  ) {
    this.measure();
  }

  show(content: TreeContent): void {
    if (content.count !== this.content?.count) this.host.style.height = `${content.count * ROW_PX}px`;
    this.content = content;
    // Fewer rows may leave less to scroll.
    this.top = this.scroller.scrollTop;
    this.draw();
  }

  // The scroller has another height.
  readonly measure = (): void => {
    this.height = this.scroller.clientHeight;
    const least = Math.ceil(this.height / ROW_PX) + 2 * OVERSCAN + 1;
    if (this.views.length === least) return;
    for (const view of this.views) view.element.remove();
    this.views = Array.from({ length: least }, () => new TreeRowView());
    this.draw();
  };

  clear(): void {
    this.host.replaceChildren();
  }

  readonly scrolled = (): void => {
    this.top = this.scroller.scrollTop;
    this.draw();
  };

  // Scrolls no further than it must.
  reveal(index: number): void {
    const top = index * ROW_PX;
    const least = top + ROW_PX - this.height;
    const wanted = Math.min(top, Math.max(least, this.scroller.scrollTop));
    if (wanted === this.scroller.scrollTop) return;
    this.scroller.scrollTop = wanted;
    this.scrolled();
  }

  // The row that holds this element.
  rowOf(element: Element): ShownRow | null {
    const row = element.closest('.tree-row');
    if (row === null) return null;
    return [...this.views, this.away].find((view) => view.element === row)?.shown ?? null;
  }

  private draw(): void {
    const { content, views } = this;
    if (content === null) return;
    const last = Math.max(0, content.count - views.length);
    const first = Math.max(0, Math.min(Math.floor(this.top / ROW_PX) - OVERSCAN, last));
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

  private put(content: TreeContent, view: TreeRowView, index: number): void {
    const { element } = view;
    if (index >= content.count) {
      if (element.isConnected) element.remove();
      return;
    }
    view.show(content.at(index));
    if (!element.isConnected) this.host.append(element);
  }
}
