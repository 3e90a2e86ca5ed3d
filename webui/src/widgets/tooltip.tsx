import { Tooltip as Radix } from 'radix-ui';
import type { ReactElement, ReactNode } from 'react';
import './tooltip.css';

export function TooltipProvider({ children }: { children: ReactNode }) {
  return (
    <Radix.Provider delayDuration={350} skipDelayDuration={200}>
      {children}
    </Radix.Provider>
  );
}

interface Props {
  text: ReactNode;
  shortcut?: string | undefined;
  side?: 'top' | 'bottom' | 'left' | 'right';
  children: ReactElement;
}

export function Tooltip({ text, shortcut, side = 'bottom', children }: Props) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className="tooltip" side={side} sideOffset={5} collisionPadding={8}>
          {text}
          {shortcut !== undefined && <kbd className="key">{shortcut}</kbd>}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
