// The popup of a tooltip, placed beside its element where there is space.

import { computePosition, flip, offset, shift } from '@floating-ui/dom';
import { useEffect, useLayoutEffect, useRef, type ReactNode } from 'react';
import { createPortal } from 'react-dom';
import './tip.css';

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

export function Tip({ id, anchor, side, shortcut, children, onEnter, onLeave, onClose }: Props) {
  const tip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const own = tip.current;
    if (own === null) return;
    const middleware = [offset(5), flip(), shift({ padding: 8 })];
    void computePosition(anchor, own, { placement: side, strategy: 'fixed', middleware }).then(({ x, y }) => {
      Object.assign(own.style, { left: `${x}px`, top: `${y}px`, visibility: 'visible' });
    });
  }, [anchor, side, children, shortcut]);
  useEffect(() => {
    const onKey = ({ key }: KeyboardEvent) => key === 'Escape' && onClose();
    document.addEventListener('keydown', onKey, true);
    // The popup would not move with its element.
    document.addEventListener('scroll', onClose, true);
    return () => {
      document.removeEventListener('keydown', onKey, true);
      document.removeEventListener('scroll', onClose, true);
    };
  }, [onClose]);
  return createPortal(
    <div ref={tip} id={id} role="tooltip" className="tip" onPointerEnter={onEnter} onPointerLeave={onLeave}>
      {children}
      {shortcut !== undefined && <kbd className="key">{shortcut}</kbd>}
    </div>,
    document.body,
  );
}
