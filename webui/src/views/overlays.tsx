// The command palette and the list of shortcuts, loaded when first opened.

import { lazy, Suspense, useEffect } from 'react';
import { goToNextHit } from '../state/hits';
import { goToNextIncident, loadIncidents, useIncidents } from '../state/incidents';
import { useJob } from '../state/job_store';
import { toggleOverview } from '../state/overview_route';
import { useRouter } from '../state/router';
import { showOverlay, useUi } from '../state/ui';

const fetchPalette = () => import('./palette');
const Palette = lazy(async () => ({ default: (await fetchPalette()).Palette }));
const KeysDialog = lazy(async () => ({ default: (await import('./keys_dialog')).KeysDialog }));
const ChangeDialog = lazy(async () => ({ default: (await import('./change_dialog')).ChangeDialog }));

// Late enough not to compete with the first view.
const PREFETCH_MS = 3000;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, select, textarea');
}

// Selects the next or previous incident; with a list of all hits, or where hits are not grouped, the next hit.
async function goToNext(by: 1 | -1): Promise<void> {
  // The incidents come a moment after the stop.
  if (!useIncidents.getState().incidents?.length) await loadIncidents(useJob.getState().id);
  if (useUi.getState().all_hits || !goToNextIncident(by)) goToNextHit(by);
}

// Handles the shortcuts that work everywhere. Returns true if the key is one of them.
function globalKey(event: KeyboardEvent, inJob: boolean): boolean {
  const key = event.key.toLowerCase();
  const command = event.ctrlKey || event.metaKey;
  if (command && !event.altKey && ((key === 'k' && !event.shiftKey) || (key === 'p' && event.shiftKey))) {
    showOverlay('palette');
    return true;
  }
  const over = useUi.getState().overlay !== null;
  if (over || command || event.altKey || isTyping(event.target)) return false;
  if (event.key === '?') {
    showOverlay('keys');
    return true;
  }
  // Within a word that is typed to find a row, the tree handles the letter itself.
  if (inJob && key === 'n') {
    void goToNext(event.shiftKey ? -1 : 1);
    return true;
  }
  if (inJob && key === 'o' && !event.shiftKey) {
    toggleOverview();
    return true;
  }
  return false;
}

export function Overlays() {
  const overlay = useUi((state) => state.overlay);
  const job = useRouter(({ route }) => (route.view === 'job' ? route.route.job : null));
  const inJob = job !== null;
  // The form is about the job on which it was opened.
  useEffect(() => {
    if (useUi.getState().overlay === 'change') showOverlay(null);
  }, [job]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (globalKey(event, inJob)) event.preventDefault();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [inJob]);
  // Loads the palette ahead, so that keys typed right after the shortcut are not lost.
  useEffect(() => {
    const timer = setTimeout(() => void fetchPalette().catch(() => {}), PREFETCH_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Suspense fallback={null}>
      {overlay === 'palette' && <Palette />}
      {overlay === 'keys' && <KeysDialog />}
      {overlay === 'change' && inJob && <ChangeDialog />}
    </Suspense>
  );
}
