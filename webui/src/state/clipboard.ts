import { showToast } from './toasts';

// Puts text on the clipboard and says so; `what` stands for long texts.
export async function copyText(text: string, what = text): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast({ kind: 'info', title: 'Copied', detail: what });
  } catch {
    showToast({ kind: 'error', title: 'Not copied', detail: 'The browser does not allow it.' });
  }
}
