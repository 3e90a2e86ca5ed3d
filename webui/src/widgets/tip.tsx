// The popup of a tooltip, placed beside its element where there is space.

import { computePosition, flip, offset, shift } from '@floating-ui/dom';
import { useEffect, useLayoutEffect, useRef, type ReactNode } from 'react';
import { createPortal } from 'react-dom';
import './tip.css';

const GAP_PX = 5;

interface Props {
  id: string;
  anchor: HTMLElement;
  side: 'top' | 'bottom' | 'left' | 'right';
  shortcut: string | undefined;
  children: ReactNode;
  onEnter: () => void;
  onLeave: () => void;
  onClose: () => void;
}

// With the gap to its element, which the pointer crosses.
function contains(element: HTMLElement | null, x: number, y: number): boolean {
  if (element === null) return false;
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return x >= left - GAP_PX && x <= right + GAP_PX && y >= top - GAP_PX && y <= bottom + GAP_PX;
}

export function Tip({ id, anchor, side, shortcut, children, onEnter, onLeave, onClose }: Props) {
  const tip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const own = tip.current;
    if (own === null) return;
    const middleware = [offset(GAP_PX), flip(), shift({ padding: 8 })];
    void computePosition(anchor, own, { placement: side, strategy: 'fixed', middleware }).then(({ x, y }) => {
      Object.assign(own.style, { left: `${x}px`, top: `${y}px`, visibility: 'visible' });
    });
  }, [anchor, side, children, shortcut]);
  useEffect(() => {
    const onKey = ({ key }: KeyboardEvent) => key === 'Escape' && onClose();
    document.addEventListener('keydown', onKey, true);
    // The popup takes no pointer events, so that what it covers can be pressed.
    let inside = false;
    const onMove = ({ clientX, clientY, target }: PointerEvent) => {
      const was = inside;
      inside = contains(tip.current, clientX, clientY);
      if (inside && !was) onEnter();
      if (was && !inside && !anchor.contains(target as Node | null)) onLeave();
    };
    document.addEventListener('pointermove', onMove);
    // The popup would not move with its element.
    document.addEventListener('scroll', onClose, true);
    return () => {
      document.removeEventListener('keydown', onKey, true);
      document.removeEventListener('pointermove', onMove);
      document.removeEventListener('scroll', onClose, true);
    };
  }, [anchor, onEnter, onLeave, onClose]);
  return createPortal(
    <div ref={tip} id={id} role="tooltip" className="tip">
      {children}
      {shortcut !== undefined && <kbd className="key">{shortcut}</kbd>}
    </div>,
    document.body,
  );
}
