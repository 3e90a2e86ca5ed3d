// The palette and the list of keys, fetched when they are first wanted.

import { lazy, Suspense, useEffect } from 'react';
import { goToNextHit } from '../state/hits';
import { useRouter } from '../state/router';
import { showOverlay, useUi } from '../state/ui';

const fetchPalette = () => import('./palette');
const Palette = lazy(async () => ({ default: (await fetchPalette()).Palette }));
const KeysDialog = lazy(async () => ({ default: (await import('./keys_dialog')).KeysDialog }));

// When the first view has long been painted.
const PREFETCH_MS = 3000;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, select, textarea');
}

// The keys that work everywhere. True: the key was used.
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
  // In the tree, letters go to labels: it keeps them to itself.
  if (inJob && key === 'n') {
    goToNextHit(event.shiftKey ? -1 : 1);
    return true;
  }
  return false;
}

export function Overlays() {
  const overlay = useUi((state) => state.overlay);
  const inJob = useRouter((state) => state.route.view === 'job');
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (globalKey(event, inJob)) event.preventDefault();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [inJob]);
  // Whoever types right after its key must not type into nothing.
  useEffect(() => {
    const timer = setTimeout(() => void fetchPalette().catch(() => {}), PREFETCH_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Suspense fallback={null}>
      {overlay === 'palette' && <Palette />}
      {overlay === 'keys' && <KeysDialog />}
    </Suspense>
  );
}
