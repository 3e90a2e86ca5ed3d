import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { elementLength, placeInView, placeOfScroll, scrollOfPlace } from './scroll_space';

// The visible part of content that may be longer than browsers can scroll.
export interface SpaceView {
  // Position in the content.
  left: number;
  top: number;
  width: number;
  height: number;
  // Scroll position of the element.
  scroll_left: number;
  scroll_top: number;
}

interface Extent {
  width: number;
  height: number;
}

// Grids of one group scroll together.
export interface ScrollGroup {
  members: Set<(left: number, top: number) => void>;
}

const START: SpaceView = { left: 0, top: 0, width: 600, height: 240, scroll_left: 0, scroll_top: 0 };

// `inset`: the area that sticky labels cover at the left and at the top.
export function useScrollSpace(extent: Extent, inset: Extent, group: ScrollGroup | null) {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState(START);
  const now = useRef(START);
  const { width: total_width, height: total_height } = extent;

  const show = useCallback(
    (left: number, top: number) => {
      const element = scroller.current;
      if (element === null) return;
      const { clientWidth: width, clientHeight: height } = element;
      const x = Math.max(0, Math.min(left, total_width - width));
      const y = Math.max(0, Math.min(top, total_height - height));
      element.scrollLeft = scrollOfPlace(x, total_width, width);
      element.scrollTop = scrollOfPlace(y, total_height, height);
      const { scrollLeft: scroll_left, scrollTop: scroll_top } = element;
      now.current = { left: x, top: y, width, height, scroll_left, scroll_top };
      setView(now.current);
    },
    [total_width, total_height],
  );

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const read = () => {
      const { scrollLeft, scrollTop, clientWidth: width, clientHeight: height } = element;
      const before = now.current;
      // The event of a position that was set here. The position in the content is already
      // known, more precisely than the scroll bar could give it.
      const echo = scrollLeft === before.scroll_left && scrollTop === before.scroll_top;
      if (echo && width === before.width && height === before.height) return;
      now.current = {
        left: scrollLeft === before.scroll_left ? before.left : placeOfScroll(scrollLeft, total_width, width),
        top: scrollTop === before.scroll_top ? before.top : placeOfScroll(scrollTop, total_height, height),
        width,
        height,
        scroll_left: scrollLeft,
        scroll_top: scrollTop,
      };
      setView(now.current);
      for (const follow of group?.members ?? []) {
        if (follow !== show) follow(now.current.left, now.current.top);
      }
    };
    read();
    const observer = new ResizeObserver(read);
    observer.observe(element);
    element.addEventListener('scroll', read, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', read);
    };
  }, [group, show, total_width, total_height]);

  useEffect(() => {
    group?.members.add(show);
    return () => void group?.members.delete(show);
  }, [group, show]);

  // In long content, the wheel must still scroll row by row.
  useEffect(() => {
    const element = scroller.current;
    const long = elementLength(total_height) < total_height || elementLength(total_width) < total_width;
    if (element === null || !long) return undefined;
    const onWheel = (event: WheelEvent) => {
      if (event.ctrlKey) return;
      event.preventDefault();
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
      const [dx, dy] = event.shiftKey ? [event.deltaY, event.deltaX] : [event.deltaX, event.deltaY];
      show(now.current.left + dx * unit, now.current.top + dy * unit);
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, [show, total_width, total_height]);

  const reveal = useCallback(
    (x: number, y: number, width: number, height: number) => {
      const { left, top, width: across, height: down } = now.current;
      const to_left = placeInView(left, x, width, across - inset.width);
      const to_top = placeInView(top, y, height, down - inset.height);
      if (to_left !== left || to_top !== top) show(to_left, to_top);
    },
    [inset.width, inset.height, show],
  );
  return { scroller, view, reveal };
}
