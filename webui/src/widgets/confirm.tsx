// A question before something that cannot be taken back. The browser's own dialog
// keeps focus inside and gives it back.

import { useEffect, useRef } from 'react';
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
            <Button label="Cancel" onClick={onClose} />
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
