// A native dialog, which keeps the focus inside and restores it afterwards. A click outside
// closes it.

import { useEffect, useRef, type ReactNode } from 'react';
import './dialog.css';

interface Props {
  label: string;
  className?: string;
  onClose: () => void;
  children: ReactNode;
}

export function Dialog({ label, className = '', onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element?.open === false) element.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={`dialog ${className}`}
      aria-label={label}
      onClose={onClose}
      onClick={(event) => event.target === event.currentTarget && onClose()}
    >
      {children}
    </dialog>
  );
}
