// The scene of the open scopes, laid out again when the open scopes or the graph change.
// The worker lays out large graphs, and the old scene is shown until it has answered.

import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { LayoutAnswer } from '../graph/layout_types';
import { buildScene, EMPTY_SCENE, layoutScopes, type Scene, type Views } from '../graph/scene';
import { smallLayout } from '../graph/small_layout';
import { useRouter } from '../state/router';
import { currentOpen, useScopes } from '../state/scopes';
import { graphWorker } from '../worker/client';
import { layoutIds } from './layout_ids';

interface LayoutTask {
  id: number;
  // The views at the time of the request. With an index, newer views fit the layout too.
  views: Views;
  // The graph to lay out.
  subject: string;
  // Everything that the layout depends on.
  inputs: readonly unknown[];
}

const NO_TASK: LayoutTask = { id: 0, views: new Map(), subject: '', inputs: [] };

// The task for the current state, or `last` if its inputs have not changed.
function currentTask(last: LayoutTask): LayoutTask {
  const { route } = useRouter.getState();
  if (route.view !== 'job') return last;
  const { graph, index, views, auto } = useScopes.getState();
  const { open, node } = route.route;
  const inputs = [index ?? views, open, open === null ? node : null, open === null ? auto : null];
  if (inputs.every((value, i) => value === last.inputs[i])) return last;
  return { id: layoutIds.next(), views, subject: graph ?? '', inputs };
}

// The precomputed layout of the fully open graph, if exactly those scopes are open.
function readyLayout(id: number, open: ReadonlySet<string>): LayoutAnswer | null {
  const { allOpen } = useScopes.getState();
  if (allOpen === null) return null;
  const drawn = [...allOpen.scopes, ...allOpen.spread];
  if (open.size !== drawn.length - 1) return null;
  const same = drawn.every((name) => name === '' || open.has(name));
  return same ? { ...allOpen, id } : null;
}

// Returns the layout if the graph is small or the layout was precomputed. Otherwise sends a
// request to the worker and returns null.
function startLayout({ id, views }: LayoutTask): LayoutAnswer | null {
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
  const task = useRef<LayoutTask>(NO_TASK);

  // Before the first paint, so that it has the graph if that is known by then.
  useLayoutEffect(() => {
    const build = (answer: LayoutAnswer) => {
      drawn.current = { answer, views: task.current.views };
      return buildScene(answer, task.current.views, task.current.subject);
    };
    // Runs directly on a change of state, so that the worker computes while React renders.
    const update = () => {
      const next = currentTask(task.current);
      if (next === task.current) return;
      task.current = next;
      const answer = startLayout(next);
      if (answer !== null) setScene(build(answer));
    };
    update();
    const unsubscribe = [
      useRouter.subscribe(update),
      useScopes.subscribe(update),
      graphWorker.subscribe((message) => {
        if (message.type !== 'layout' || message.answer.id !== task.current.id) return;
        const built = build(message.answer);
        // Renders now, so that the scene may still be in the current frame.
        flushSync(() => setScene(built));
      }),
    ];
    return () => unsubscribe.forEach((stop) => stop());
  }, []);

  // The watched nodes have changed: the layout stays, with new views of its nodes.
  useEffect(() => {
    task.current.views = views;
    const last = drawn.current;
    if (index === null || last?.answer.id !== task.current.id || last.views === views) return;
    drawn.current = { answer: last.answer, views };
    setScene(buildScene(last.answer, views, task.current.subject));
  }, [index, views]);

  return scene;
}
