// Says what an element is, beside it, while the pointer rests on it or the keyboard
// has come to it.

import { cloneElement, lazy, Suspense, useCallback, useEffect, useId, useState } from 'react';
import type { HTMLAttributes, ReactElement, ReactNode } from 'react';

const Tip = lazy(async () => ({ default: (await import('./tip')).Tip }));

const DELAY_MS = 350;
// The next one is shown at once, soon after another.
const SOON_MS = 200;
// On the way from the element to what is said of it.
const GRACE_MS = 100;

let last_closed = -Infinity;

function delayBefore(pointed: HTMLElement | null): number {
  if (pointed === null) return GRACE_MS;
  return performance.now() - last_closed < SOON_MS ? 0 : DELAY_MS;
}

interface Props {
  text: ReactNode;
  shortcut?: string | undefined;
  side?: 'top' | 'bottom' | 'left' | 'right';
  // Takes the handlers for pointer and focus, so it must have none of its own.
  children: ReactElement<HTMLAttributes<HTMLElement>>;
}

export function Tooltip({ text, shortcut, side = 'bottom', children }: Props) {
  const id = useId();
  // What is shown follows what is pointed at, after a while.
  const [pointed, setPointed] = useState<HTMLElement | null>(null);
  const [shown, setShown] = useState<HTMLElement | null>(null);
  useEffect(() => {
    if (pointed === shown) return undefined;
    const timer = setTimeout(() => setShown(pointed), delayBefore(pointed));
    return () => clearTimeout(timer);
  }, [pointed, shown]);
  useEffect(() => {
    if (shown === null) return undefined;
    return () => {
      last_closed = performance.now();
    };
  }, [shown]);
  const leave = useCallback(() => setPointed(null), []);
  const close = useCallback(() => {
    setPointed(null);
    setShown(null);
  }, []);

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
            onEnter={() => setPointed(shown)}
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
