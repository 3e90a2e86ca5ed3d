// A tooltip, shown while the pointer rests on its element or the keyboard focus is on it.

import { cloneElement, lazy, Suspense, useCallback, useEffect, useId, useState } from 'react';
import type { HTMLAttributes, ReactElement, ReactNode } from 'react';

const Tip = lazy(async () => ({ default: (await import('./tip')).Tip }));

const DELAY_MS = 350;
// A tooltip opens without delay this soon after another one has closed.
const SOON_MS = 200;
// Time for the pointer to move from the element to the tooltip.
const GRACE_MS = 100;

// The delays of all tooltips, which depend on when the last one closed.
class TooltipDelays {
  private lastClosed = -Infinity;
  // Closes the tooltip that is shown.
  private close: (() => void) | null = null;

  beforeOpening(): number {
    return performance.now() - this.lastClosed < SOON_MS ? 0 : DELAY_MS;
  }

  // A tooltip is shown, and replaces any other.
  opened(close: () => void): void {
    const before = this.close;
    this.close = close;
    before?.();
  }

  closed(close: () => void): void {
    this.lastClosed = performance.now();
    if (this.close === close) this.close = null;
  }
}

const delays = new TooltipDelays();

interface Props {
  text: ReactNode;
  shortcut?: string | undefined;
  side?: 'top' | 'bottom' | 'left' | 'right';
  // Receives the pointer and focus handlers, so it must have none of its own.
  children: ReactElement<HTMLAttributes<HTMLElement>>;
}

export function Tooltip({ text, shortcut, side = 'bottom', children }: Props) {
  const id = useId();
  // The tooltip of the pointed element is shown after a delay.
  const [pointed, setPointed] = useState<HTMLElement | null>(null);
  const [shown, setShown] = useState<HTMLElement | null>(null);
  useEffect(() => {
    if (pointed === shown) return undefined;
    const delay = pointed === null ? GRACE_MS : delays.beforeOpening();
    const timer = setTimeout(() => setShown(pointed), delay);
    return () => clearTimeout(timer);
  }, [pointed, shown]);
  const leave = useCallback(() => setPointed(null), []);
  const enter = useCallback(() => setPointed(shown), [shown]);
  const close = useCallback(() => {
    setPointed(null);
    setShown(null);
  }, []);
  useEffect(() => {
    if (shown === null) return undefined;
    delays.opened(close);
    return () => delays.closed(close);
  }, [shown, close]);

  const handlers: HTMLAttributes<HTMLElement> = {
    onPointerEnter: (event) => event.pointerType !== 'touch' && setPointed(event.currentTarget),
    onPointerLeave: leave,
    onPointerDown: close,
    onFocus: ({ currentTarget }) => {
      if (!currentTarget.matches(':focus-visible')) return;
      setPointed(currentTarget);
      setShown(currentTarget);
    },
    onBlur: close,
  };
  if (shown !== null) handlers['aria-describedby'] = id;
  return (
    <>
      {cloneElement(children, handlers)}
      {shown !== null && (
        <Suspense>
          <Tip
            id={id}
            anchor={shown}
            side={side}
            shortcut={shortcut}
            onEnter={enter}
            onLeave={leave}
            onClose={close}
          >
            {text}
          </Tip>
        </Suspense>
      )}
    </>
  );
}
