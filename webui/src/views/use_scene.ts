// The scene of the open scopes: laid out whenever what is open or the graph changes; a
// large one by the worker, and the old scene is kept until its answer is there.

import { useEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { ScopeView } from '../api/types';
import type { LayoutAnswer } from '../graph/layout_types';
import { buildScene, EMPTY_SCENE, layoutScopes, type Scene } from '../graph/scene';
import { smallLayout } from '../graph/small_layout';
import { useRouter } from '../state/router';
import { currentOpen, useScopes } from '../state/scopes';
import { graphWorker } from '../worker/client';

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
function questionNow(last: Question): Question {
  const { route } = useRouter.getState();
  if (route.view !== 'job') return last;
  const { graph, index, views, auto } = useScopes.getState();
  const { open, node } = route.route;
  const about = [index ?? views, open, open === null ? node : null, open === null ? auto : null];
  if (about.every((value, i) => value === last.about[i])) return last;
  return { id: nextQuestion(), views, subject: graph ?? '', about };
}

// The layout made ahead, if it is that of these scopes.
function readyLayout(id: number, open: ReadonlySet<string>): LayoutAnswer | null {
  const { allOpen } = useScopes.getState();
  if (allOpen === null || open.size !== allOpen.scopes.length - 1) return null;
  const same = allOpen.scopes.every((name) => name === '' || open.has(name));
  return same ? { ...allOpen, id } : null;
}

// The answer itself, if it is small or was made ahead; else null, and the worker is asked.
function ask({ id, views }: Question): LayoutAnswer | null {
  const open = currentOpen();
  const small = smallLayout(id, open, views);
  if (small !== null) return small;
  const ready = readyLayout(id, open);
  const known = useScopes.getState().index !== null;
  const scopes = known ? null : layoutScopes(open, views);
  graphWorker.post({ type: 'layout', id, open: known ? [...open] : [], scopes, answered: ready !== null });
  return ready;
}

export function useScene(): Scene {
  const index = useScopes((state) => state.index);
  const views = useScopes((state) => state.views);
  const [scene, setScene] = useState<Scene>(EMPTY_SCENE);
  const drawn = useRef<{ answer: LayoutAnswer; views: Views } | null>(null);
  const asked = useRef<Question>(NONE);

  useEffect(() => {
    const take = (answer: LayoutAnswer) => {
      drawn.current = { answer, views: asked.current.views };
      return buildScene(answer, asked.current.views, asked.current.subject);
    };
    // At once, not with the next render: the worker is at it while React renders.
    const look = () => {
      const question = questionNow(asked.current);
      if (question === asked.current) return;
      asked.current = question;
      const answer = ask(question);
      if (answer !== null) setScene(take(answer));
    };
    look();
    const leave = [
      useRouter.subscribe(look),
      useScopes.subscribe(look),
      graphWorker.subscribe((message) => {
        if (message.type !== 'layout' || message.answer.id !== asked.current.id) return;
        const built = take(message.answer);
        // In the frame that is being made, if there is time.
        flushSync(() => setScene(built));
      }),
    ];
    return () => leave.forEach((stop) => stop());
  }, []);

  // What is watched has changed: the same drawing of other nodes.
  useEffect(() => {
    asked.current.views = views;
    const last = drawn.current;
    if (index === null || last?.answer.id !== asked.current.id || last.views === views) return;
    drawn.current = { answer: last.answer, views };
    setScene(buildScene(last.answer, views, asked.current.subject));
  }, [index, views]);

  return scene;
}
