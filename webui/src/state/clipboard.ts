import { clipboardDenied, copied, copyFailed } from '../words/common';
import { showToast } from './toasts';

// Copies text to the clipboard and shows a message with `what`, a short form of long texts.
export async function copyText(text: string, what = text): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast({ kind: 'info', title: copied, detail: what });
  } catch {
    showToast({ kind: 'error', title: copyFailed, detail: clipboardDenied });
  }
}
