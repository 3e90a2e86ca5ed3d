// Short messages that disappear by themselves: refused commands, failures, messages from the job.

import { create } from 'zustand';
import { Sequence } from '../base/sequence';

export type ToastKind = 'error' | 'info';

export interface Toast {
  id: number;
  kind: ToastKind;
  title: string;
  detail: string;
  // An action offered with the message, such as Undo.
  action?: { label: string; run: () => void };
  // Overrides the default duration.
  stay_ms?: number;
}

interface ToastState {
  toasts: Toast[];
}

const MAX_TOASTS = 4;
const STAY_MS = 7000;
// Leaves time to decide about the action.
const STAY_WITH_ACTION_MS = 12_000;
const ids = new Sequence();

export const useToasts = create<ToastState>(() => ({ toasts: [] }));

export function dismissToast(id: number): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((toast) => toast.id !== id) }));
}

export function showToast(toast: Omit<Toast, 'id'>): void {
  const id = ids.next();
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts, { ...toast, id }].slice(-MAX_TOASTS) }));
  const stay = toast.stay_ms ?? (toast.action === undefined ? STAY_MS : STAY_WITH_ACTION_MS);
  setTimeout(() => dismissToast(id), stay);
}
