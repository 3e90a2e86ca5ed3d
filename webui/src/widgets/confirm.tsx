// Asks for confirmation before an action that cannot be undone. The native dialog keeps the
// focus inside and restores it afterwards.

import { useEffect, useRef } from 'react';
import { cancel } from '../words/common';
import { Button } from './button';
import './confirm.css';

interface Props {
  open: boolean;
  title: string;
  text: string;
  action: string;
  onConfirm: () => void;
  onClose: () => void;
}

export function Confirm({ open, title, text, action, onConfirm, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && dialog.current?.open === false) dialog.current.showModal();
    if (!open && dialog.current?.open === true) dialog.current.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      className="confirm"
      role="alertdialog"
      aria-labelledby="confirm-title"
      aria-describedby="confirm-text"
      onClose={onClose}
    >
      {open && (
        <>
          <h2 id="confirm-title">{title}</h2>
          <p id="confirm-text">{text}</p>
          <div className="confirm-actions">
            <Button label={cancel} onClick={onClose} />
            <Button
              label={action}
              tone="critical"
              onClick={() => {
                onClose();
                onConfirm();
              }}
            />
          </div>
        </>
      )}
    </dialog>
  );
}
