// The scene of the open scopes: asks the worker for a layout whenever what is open
// or known changes, and keeps the old scene until the answer is there.

import { useEffect, useRef, useState } from 'react';
import type { ScopeView } from '../api/types';
import { LayoutClient } from '../graph/layout_client';
import { buildScene, EMPTY_SCENE, layoutScopes, type Scene } from '../graph/scene';

export function useScene(
  open: ReadonlySet<string>,
  views: ReadonlyMap<string, ScopeView>,
): Scene {
  const [scene, setScene] = useState<Scene>(EMPTY_SCENE);
  const client = useRef<LayoutClient | null>(null);
  // The views that the newest question was asked with.
  const asked = useRef<ReadonlyMap<string, ScopeView>>(views);

  useEffect(() => {
    const own = new LayoutClient((answer) => setScene(buildScene(answer, asked.current)));
    client.current = own;
    return () => {
      own.close();
      client.current = null;
    };
  }, []);

  useEffect(() => {
    asked.current = views;
    client.current?.ask(layoutScopes(open, views));
  }, [open, views]);

  return scene;
}
