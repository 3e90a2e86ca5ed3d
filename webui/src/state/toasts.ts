// Short messages that pass by: refused commands, failures, what the job says.

import { create } from 'zustand';
import { Sequence } from '../base/sequence';

export type ToastKind = 'error' | 'info';

export interface Toast {
  id: number;
  kind: ToastKind;
  title: string;
  detail: string;
  // What can be done about it, as undoing it.
  action?: { label: string; run: () => void };
  // How long it is there, if not as long as others.
  stay_ms?: number;
}

interface ToastState {
  toasts: Toast[];
}

const MOST = 4;
const STAY_MS = 7000;
// Time to make up one's mind.
const STAY_WITH_ACTION_MS = 12_000;
const ids = new Sequence();

export const useToasts = create<ToastState>(() => ({ toasts: [] }));

export function dismissToast(id: number): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((toast) => toast.id !== id) }));
}

export function showToast(toast: Omit<Toast, 'id'>): void {
  const id = ids.next();
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts, { ...toast, id }].slice(-MOST) }));
  const stay = toast.stay_ms ?? (toast.action === undefined ? STAY_MS : STAY_WITH_ACTION_MS);
  setTimeout(() => dismissToast(id), stay);
}
