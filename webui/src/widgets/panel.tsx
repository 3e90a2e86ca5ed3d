import type { ReactNode } from 'react';
import './panel.css';

interface Props {
  title: string;
  count?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}

// A part of the window with a title.
export function Panel({ title, count, actions, children, className = '' }: Props) {
  return (
    <section className={`panel ${className}`} aria-label={title}>
      <header className="panel-head">
        <h2 className="panel-title">{title}</h2>
        {count !== undefined && <span className="panel-count">{count}</span>}
        <span className="grow" />
        {actions}
      </header>
      <div className="panel-body">{children}</div>
    </section>
  );
}
