// The scene of the open scopes: asks the worker for a layout whenever what is open or
// the graph changes, and keeps the old scene until the answer is there.

import { useEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { ScopeView } from '../api/types';
import type { LayoutAnswer } from '../graph/layout_types';
import { buildScene, EMPTY_SCENE, layoutScopes, type Scene } from '../graph/scene';
import { useRouter } from '../state/router';
import { currentOpen, useScopes } from '../state/scopes';
import { askWorker, onWorker } from '../worker/client';

type Views = ReadonlyMap<string, ScopeView>;

let questions = 0;

export function nextQuestion(): number {
  questions += 1;
  return questions;
}

interface Question {
  id: number;
  // With an index its views always fit the answer; else those that were asked with.
  views: Views;
  // The graph that it is about.
  subject: string;
  // What a layout depends on: equal ones have the same answer.
  about: readonly unknown[];
}

const NONE: Question = { id: 0, views: new Map(), subject: '', about: [] };

// The last question again, if a new one would be the same.
function ask(last: Question): Question {
  const { route } = useRouter.getState();
  if (route.view !== 'job') return last;
  const { graph, index, views, auto } = useScopes.getState();
  const { open, node } = route.route;
  const about = [index ?? views, open, open === null ? node : null, open === null ? auto : null];
  if (about.every((value, i) => value === last.about[i])) return last;
  const id = nextQuestion();
  const scopes = currentOpen();
  if (index === null) askWorker({ type: 'layout', id, open: [], scopes: layoutScopes(scopes, views) });
  else askWorker({ type: 'layout', id, open: [...scopes], scopes: null });
  return { id, views, subject: graph ?? '', about };
}

export function useScene(): Scene {
  const index = useScopes((state) => state.index);
  const views = useScopes((state) => state.views);
  const [scene, setScene] = useState<Scene>(EMPTY_SCENE);
  const answer = useRef<LayoutAnswer | null>(null);
  const asked = useRef<Question>(NONE);

  useEffect(() => {
    // At once, not with the next render: the worker is at it while React renders.
    const look = () => {
      asked.current = ask(asked.current);
    };
    const take = (given: LayoutAnswer) => {
      answer.current = given;
      const built = buildScene(given, asked.current.views, asked.current.subject);
      // In the frame that is being made, if there is time.
      flushSync(() => setScene(built));
    };
    look();
    const leave = [
      useRouter.subscribe(look),
      useScopes.subscribe(look),
      onWorker((message) => {
        if (message.type === 'layout' && message.answer.id === asked.current.id) take(message.answer);
      }),
    ];
    return () => leave.forEach((stop) => stop());
  }, []);

  // What is watched has changed: the same drawing of other nodes.
  useEffect(() => {
    asked.current.views = views;
    if (index === null || answer.current?.id !== asked.current.id) return;
    setScene(buildScene(answer.current, views, asked.current.subject));
  }, [index, views]);

  return scene;
}
