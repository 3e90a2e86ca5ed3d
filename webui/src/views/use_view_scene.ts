// The scene of a single view without open scopes, laid out by the worker.

import { useEffect, useRef, useState } from 'react';
import type { ScopeView } from '../api/types';
import { buildScene, layoutScopes, type Scene } from '../graph/scene';
import { graphWorker } from '../worker/client';
import { layoutIds } from './layout_ids';

const NO_SCOPES: ReadonlySet<string> = new Set();

interface Request {
  id: number;
  views: ReadonlyMap<string, ScopeView>;
  subject: string;
}

// `view`: undefined keeps the last scene while the next view is loaded, null shows none. Returns
// null until there is a layout. The camera starts over when `subject` changes.
export function useViewScene(view: ScopeView | null | undefined, subject: string): Scene | null {
  const [scene, setScene] = useState<Scene | null>(null);
  const request = useRef<Request | null>(null);
  useEffect(
    () =>
      graphWorker.subscribe((message) => {
        const sent = request.current;
        if (message.type !== 'layout' || sent === null || message.answer.id !== sent.id) return;
        setScene(buildScene(message.answer, sent.views, sent.subject));
      }),
    [],
  );
  useEffect(() => {
    if (view === undefined) return;
    if (view === null) {
      request.current = null;
      setScene(null);
      return;
    }
    const views = new Map([['', view]]);
    request.current = { id: layoutIds.next(), views, subject };
    graphWorker.post({ type: 'layout', id: request.current.id, open: [], scopes: layoutScopes(NO_SCOPES, views), answered: false });
    // The subject belongs to the view.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [view]);
  return scene;
}
