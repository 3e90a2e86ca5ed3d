// The scene of the open scopes: asks the worker for a layout whenever what is open or
// the graph changes, and keeps the old scene until the answer is there.

import { useEffect, useRef, useState } from 'react';
import type { ScopeView } from '../api/types';
import type { LayoutAnswer } from '../graph/layout_types';
import { buildScene, EMPTY_SCENE, layoutScopes, type Scene } from '../graph/scene';
import { useScopes } from '../state/scopes';
import { askWorker, onWorker } from '../worker/client';

type Views = ReadonlyMap<string, ScopeView>;

let questions = 0;

export function nextQuestion(): number {
  questions += 1;
  return questions;
}

export function useScene(open: ReadonlySet<string>, views: Views): Scene {
  const index = useScopes((state) => state.index);
  const [scene, setScene] = useState<Scene>(EMPTY_SCENE);
  const answer = useRef<LayoutAnswer | null>(null);
  // With an index its views always fit the answer; else those that were asked with.
  const asked = useRef<{ id: number; views: Views }>({ id: 0, views });

  useEffect(
    () =>
      onWorker((message) => {
        if (message.type !== 'layout' || message.answer.id !== asked.current.id) return;
        answer.current = message.answer;
        setScene(buildScene(message.answer, asked.current.views));
      }),
    [],
  );

  // Of a known graph the layout depends on what is open alone.
  const source = index ?? views;
  useEffect(() => {
    const id = nextQuestion();
    asked.current = { id, views };
    if (index !== null) {
      askWorker({ type: 'layout', id, open: [...open], scopes: null });
    } else {
      askWorker({ type: 'layout', id, open: [], scopes: layoutScopes(open, views) });
    }
    // oxlint-disable-next-line react/exhaustive-deps
  }, [open, source]);

  // What is watched has changed: the same drawing of other nodes.
  useEffect(() => {
    asked.current.views = views;
    if (index === null || answer.current?.id !== asked.current.id) return;
    setScene(buildScene(answer.current, views));
  }, [index, views]);

  return scene;
}
