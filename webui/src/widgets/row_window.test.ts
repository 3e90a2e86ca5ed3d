import { expect, it } from 'vitest';
import { RowWindow, type RowKind, type RowView } from './row_window';

// In these tests every element is 600 pixels high (src/testing/setup.ts).

function listOf(height: number) {
  const scroller = document.createElement('div');
  const host = document.createElement('div');
  scroller.append(host);
  document.body.append(scroller);
  const kind: RowKind<string> = {
    height,
    make: (): RowView<string> => {
      const view: RowView<string> = {
        element: document.createElement('p'),
        shown: null,
        show(row) {
          view.shown = row;
          view.element.textContent = row;
        },
      };
      return view;
    },
  };
  const rows = new RowWindow(scroller, host, kind);
  const scrollTo = (top: number) => {
    scroller.scrollTop = top;
    rows.scrolled();
  };
  return { scroller, host, rows, scrollTo, texts: () => [...host.children].map((row) => row.textContent) };
}

const at = (index: number) => `row ${index}`;

it('creates elements only for the rows in view, in their order', () => {
  const { host, rows, scrollTo, texts } = listOf(20);
  rows.show({ count: 10_000, active: -1, at });
  expect(host.style.height).toBe('200000px');
  expect(texts().length).toBeLessThan(50);
  scrollTo(100_000);
  expect(texts()[0]).toBe('row 4996');
  scrollTo(100_100);
  expect(texts()).toEqual(Array.from({ length: texts().length }, (_, i) => at(5001 + i)));
});

it('keeps the row that has the focus while it is out of view', () => {
  const { rows, scrollTo, texts } = listOf(20);
  rows.show({ count: 10_000, active: 3, at });
  scrollTo(100_000);
  expect(texts()[0]).toBe('row 3');
  expect(texts()[1]).toBe('row 4996');
});

it('finds rows of different heights', () => {
  const { host, scroller, rows, scrollTo, texts } = listOf(10);
  // Heights of 10 and 30 pixels in turn.
  const tops = Float64Array.from({ length: 1001 }, (_, i) => Math.floor(i / 2) * 40 + (i % 2) * 10);
  rows.show({ count: 1000, tops, active: -1, at });
  expect(host.style.height).toBe('20000px');
  expect([0, 9, 10, 39, 40, 19_999].map((offset) => rows.indexAt(offset))).toEqual([0, 0, 1, 1, 2, 999]);
  scrollTo(8000);
  expect(texts()[0]).toBe('row 396');
  rows.reveal(500);
  expect(scroller.scrollTop).toBe(10_010 - 600);
});

it('finds the row of an element', () => {
  const { host, rows } = listOf(20);
  rows.show({ count: 5, active: -1, at });
  expect(rows.rowOf(host.children[2] as Element)).toBe('row 2');
  expect(rows.rowOf(document.body)).toBeNull();
});
