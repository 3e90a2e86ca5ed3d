// Pointer and wheel input of the graph view: dragging and scrolling pan, Ctrl+wheel and
// pinching zoom, a click selects, and a double click or a click on the chevron opens or
// closes a scope.

import { useEffect, useRef, useState, type RefObject } from 'react';
import { panBy, toWorld, zoomAt, type Camera } from '../graph/camera';
import { boxAt, canOpen, onChevron, type Box, type Scene } from '../graph/scene';

const DRAG_PX = 4;
const WHEEL_LINE_PX = 16;
const ZOOM_PER_PX = 0.0022;

interface Options {
  frame: RefObject<HTMLElement | null>;
  scene: Scene;
  now: () => Camera;
  move: (camera: Camera) => void;
  select: (box: Box | null) => void;
  toggle: (box: Box) => void;
  menu: (box: Box, x: number, y: number) => void;
}

interface Drag {
  x: number;
  y: number;
  dragging: boolean;
}

export function useGraphPointer({ frame, scene, now, move, select, toggle, menu }: Options) {
  const drag = useRef<Drag | null>(null);
  const [hovered, setHovered] = useState<string | null>(null);
  const [grabbing, setGrabbing] = useState(false);

  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    // React's wheel listeners are passive and could not keep the page from zooming.
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? WHEEL_LINE_PX : 1;
      if (event.ctrlKey || event.metaKey) {
        const place = element.getBoundingClientRect();
        const factor = Math.exp(-event.deltaY * unit * ZOOM_PER_PX * 2);
        move(zoomAt(now(), event.clientX - place.left, event.clientY - place.top, factor));
        return;
      }
      const [dx, dy] = event.shiftKey ? [event.deltaY, event.deltaX] : [event.deltaX, event.deltaY];
      move(panBy(now(), -dx * unit, -dy * unit));
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, [frame, move, now]);

  const worldOf = (event: React.MouseEvent) => {
    const place = (frame.current as HTMLElement).getBoundingClientRect();
    return toWorld(now(), event.clientX - place.left, event.clientY - place.top);
  };
  const boxUnder = (event: React.MouseEvent) => {
    const { x, y } = worldOf(event);
    return { box: boxAt(scene, x, y), x, y };
  };

  const handlers = {
    onPointerDown: (event: React.PointerEvent) => {
      if (event.button > 1) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      drag.current = { x: event.clientX, y: event.clientY, dragging: false };
    },
    onPointerMove: (event: React.PointerEvent) => {
      const start = drag.current;
      if (start === null) {
        setHovered(boxUnder(event).box?.name ?? null);
        return;
      }
      const dx = event.clientX - start.x;
      const dy = event.clientY - start.y;
      if (!start.dragging && Math.hypot(dx, dy) < DRAG_PX) return;
      setGrabbing(true);
      drag.current = { x: event.clientX, y: event.clientY, dragging: true };
      move(panBy(now(), dx, dy));
    },
    onPointerUp: (event: React.PointerEvent) => {
      const start = drag.current;
      drag.current = null;
      setGrabbing(false);
      if (start === null || start.dragging || event.button !== 0) return;
      const { box, x, y } = boxUnder(event);
      // The second click of a double click must not toggle a second time.
      if (box !== null && onChevron(box, x, y) && event.detail < 2) toggle(box);
      else select(box);
    },
    onPointerLeave: () => setHovered(null),
    onContextMenu: (event: React.MouseEvent) => {
      event.preventDefault();
      const { box } = boxUnder(event);
      if (box !== null) menu(box, event.clientX, event.clientY);
    },
    onDoubleClick: (event: React.MouseEvent) => {
      const { box, x, y } = boxUnder(event);
      if (box !== null && canOpen(box.node) && !onChevron(box, x, y)) toggle(box);
    },
  };
  const cursor = grabbing ? 'grabbing' : hovered === null ? 'grab' : 'pointer';
  return { hovered, cursor, handlers };
}
