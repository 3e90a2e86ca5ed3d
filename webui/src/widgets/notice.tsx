// Replaces content that cannot be shown: gives the reason and what to do about it.

import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { Spinner } from './spinner';
import './notice.css';

interface Props {
  icon?: LucideIcon;
  title: string;
  children?: ReactNode;
  tone?: 'plain' | 'error';
  busy?: boolean;
}

export function Notice({ icon: Icon, title, children, tone = 'plain', busy = false }: Props) {
  return (
    <div className={`notice notice-${tone}`} role={tone === 'error' ? 'alert' : undefined}>
      {busy ? <Spinner /> : Icon !== undefined && <Icon aria-hidden size={20} strokeWidth={1.5} />}
      <p className="notice-title">{title}</p>
      {children !== undefined && <div className="notice-body">{children}</div>}
    </div>
  );
}
