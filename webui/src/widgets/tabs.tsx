// Tabs that follow the ARIA Authoring Practices: one tab stop, arrow keys select directly.

import type { LucideIcon } from 'lucide-react';
import './tabs.css';

export interface Tab<Id extends string> {
  id: Id;
  label: string;
  icon?: LucideIcon;
  count?: string;
}

interface Props<Id extends string> {
  tabs: ReadonlyArray<Tab<Id>>;
  selected: Id;
  label: string;
  // The id of the element that the tabs control.
  panel: string;
  onSelect: (id: Id) => void;
}

export function Tabs<Id extends string>({ tabs, selected, label, panel, onSelect }: Props<Id>) {
  const at = tabs.findIndex((tab) => tab.id === selected);
  const go = (list: HTMLElement, index: number) => {
    const tab = tabs[(index + tabs.length) % tabs.length];
    if (tab === undefined) return;
    onSelect(tab.id);
    list.querySelectorAll<HTMLElement>('[role=tab]')[tabs.indexOf(tab)]?.focus();
  };
  return (
    <div
      className="tabs"
      role="tablist"
      aria-label={label}
      onKeyDown={(event) => {
        const by = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        go(event.currentTarget, by);
      }}
    >
      {tabs.map(({ id, label: text, icon: Icon, count }) => (
        <button
          key={id}
          type="button"
          role="tab"
          className="tab"
          aria-selected={id === selected}
          aria-label={count === undefined ? text : `${text} ${count}`}
          aria-controls={panel}
          tabIndex={id === selected ? 0 : -1}
          onClick={() => onSelect(id)}
        >
          {Icon !== undefined && <Icon aria-hidden size={13} />}
          {text}
          {count !== undefined && <span className="tab-count" data-count={count} />}
        </button>
      ))}
    </div>
  );
}
