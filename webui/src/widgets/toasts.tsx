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
          <div key={toast.id} className={`toast toast-${toast.kind}`}>
            <Icon aria-hidden size={16} />
            <div className="grow">
              <p className="toast-title">{toast.title}</p>
              <p className="toast-detail">{toast.detail}</p>
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
