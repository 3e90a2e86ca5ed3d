// Short messages, in the free part of a view's header, where they cover nothing. The newest is shown;
// the one before it follows when it is dismissed.

import { CircleAlert, Info, X, type LucideIcon } from 'lucide-react';
import { dismissToast, useToasts, type ToastKind } from '../state/toasts';
import { dismiss, messages } from '../words/common';
import './toasts.css';

const ICONS: Record<ToastKind, LucideIcon> = {
  error: CircleAlert,
  info: Info,
};

export function Toasts() {
  const toasts = useToasts((state) => state.toasts);
  return (
    <div className="toasts" role="log" aria-label={messages} aria-live="polite">
      {toasts.map((toast) => {
        const Icon = ICONS[toast.kind];
        return (
          <div key={toast.id} className={`toast toast-${toast.kind}`} title={`${toast.title}\n${toast.detail}`}>
            <Icon aria-hidden size={16} />
            <div className="grow">
              <p className="toast-title ellipsis">{toast.title}</p>
              <p className="toast-detail ellipsis">{toast.detail}</p>
            </div>
            {toast.action !== undefined && (
              <button
                type="button"
                className="toast-action"
                onClick={() => {
                  dismissToast(toast.id);
                  toast.action?.run();
                }}
              >
                {toast.action.label}
              </button>
            )}
            <button
              type="button"
              className="toast-close"
              aria-label={dismiss}
              onClick={() => dismissToast(toast.id)}
            >
              <X aria-hidden size={14} />
            </button>
          </div>
        );
      })}
    </div>
  );
}
