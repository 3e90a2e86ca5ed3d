// A context menu that follows the ARIA Authoring Practices: arrow keys, Home, End, first
// letters and Escape. Disabled items stay focusable and show the reason.

import type { LucideIcon } from 'lucide-react';
import { Fragment, useEffect, useLayoutEffect, useRef } from 'react';
import './menu.css';

export interface MenuItem {
  label: string;
  icon?: LucideIcon;
  shortcut?: string;
  // Empty or absent if the item is enabled.
  disabledReason?: string;
  // Whether this one of several is chosen; absent for items that are no choice.
  checked?: boolean;
  // Draws a line above the item.
  separated?: boolean;
  onChoose: () => void;
}

interface Props {
  label: string;
  items: readonly MenuItem[];
  x: number;
  y: number;
  onClose: () => void;
}

const EDGE_PX = 6;

export function Menu({ label, items, x, y, onClose }: Props) {
  const menu = useRef<HTMLDivElement>(null);
  const buttons = () => [...(menu.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])];

  // Moves the menu inside the window.
  useLayoutEffect(() => {
    const element = menu.current;
    if (element === null) return;
    const { width, height } = element.getBoundingClientRect();
    const left = Math.max(EDGE_PX, Math.min(x, window.innerWidth - width - EDGE_PX));
    const top = Math.max(EDGE_PX, Math.min(y, window.innerHeight - height - EDGE_PX));
    element.style.left = `${left}px`;
    element.style.top = `${top}px`;
  }, [x, y, items.length]);

  useEffect(() => {
    const before = document.activeElement;
    buttons()[0]?.focus();
    const onPointerDown = (event: PointerEvent) => {
      if (!menu.current?.contains(event.target as Node)) onClose();
    };
    window.addEventListener('pointerdown', onPointerDown, true);
    window.addEventListener('blur', onClose);
    return () => {
      window.removeEventListener('pointerdown', onPointerDown, true);
      window.removeEventListener('blur', onClose);
      // The chosen item may have moved the focus.
      const focused = document.activeElement;
      const elsewhere = focused !== null && focused !== document.body;
      if (!elsewhere && before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
    // Runs once per menu, since another menu is another element.
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);

  const focusAt = (index: number) => {
    const all = buttons();
    all[(index + all.length) % Math.max(1, all.length)]?.focus();
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const all = buttons();
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === 'ArrowDown') focusAt(at + 1);
    else if (event.key === 'ArrowUp') focusAt(at - 1);
    else if (event.key === 'Home') focusAt(0);
    else if (event.key === 'End') focusAt(-1);
    else if (event.key === 'Escape' || event.key === 'Tab') onClose();
    else if (/^[a-z]$/i.test(event.key) && !event.ctrlKey && !event.metaKey) {
      const letter = event.key.toLowerCase();
      const order = [...all.slice(at + 1), ...all.slice(0, at + 1)];
      order.find((item) => item.textContent?.toLowerCase().startsWith(letter))?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      ref={menu}
      className="menu"
      role="menu"
      aria-label={label}
      tabIndex={-1}
      onKeyDown={onKeyDown}
      onContextMenu={(event) => event.preventDefault()}
    >
      <p className="menu-title mono ellipsis" aria-hidden>
        <bdi>{label}</bdi>
      </p>
      {items.map((item) => {
        const { icon: Icon, disabledReason: reason = '' } = item;
        return (
          <Fragment key={item.label}>
            {item.separated === true && <hr className="menu-line" />}
            <button
              type="button"
              role={item.checked === undefined ? 'menuitem' : 'menuitemradio'}
              aria-checked={item.checked}
              tabIndex={-1}
              className="menu-item"
              aria-disabled={reason !== '' || undefined}
              onPointerMove={(event) => event.currentTarget.focus()}
              onClick={() => {
                if (reason !== '') return;
                onClose();
                item.onChoose();
              }}
            >
              {item.checked !== undefined && <span className="menu-check" aria-hidden data-mark={item.checked ? '✓' : ''} />}
              {Icon !== undefined && <Icon aria-hidden size={14} />}
              <span className="grow">
                {item.label}
                {reason !== '' && <span className="menu-reason">{reason}</span>}
              </span>
              {item.shortcut !== undefined && <kbd className="key">{item.shortcut}</kbd>}
            </button>
          </Fragment>
        );
      })}
    </div>
  );
}
