// The drawing of what is around the selected node, where the address asks for it.

import { useEffect, useRef, useState } from 'react';
import { neighbourView } from '../graph/neighbourhood';
import { buildScene, layoutScopes, type Scene } from '../graph/scene';
import type { ScopeView } from '../api/types';
import { plural } from '../base/format';
import { useNeighbours } from '../state/queries';
import { graphWorker } from '../worker/client';
import { useJobContext } from './job_context';
import { nextQuestion } from './use_scene';

export interface NeighbourScene {
  // Null: the whole graph is to be shown.
  depth: number | null;
  // Null: not there (yet).
  scene: Scene | null;
  // What is missing.
  note: string | null;
}

const NOWHERE: NeighbourScene = { depth: null, scene: null, note: null };

export function useNeighbourScene(): NeighbourScene {
  const { id, route } = useJobContext();
  const node = route?.node ?? null;
  const depth = node === null ? null : (route?.around ?? null);
  const answer = useNeighbours(id, node, depth, route?.rank ?? 0);
  const [scene, setScene] = useState<Scene | null>(null);
  const asked = useRef<{ id: number; views: Map<string, ScopeView>; subject: string } | null>(null);

  useEffect(
    () =>
      graphWorker.subscribe((message) => {
        const question = asked.current;
        if (message.type !== 'layout' || message.answer.id !== question?.id) return;
        setScene(buildScene(message.answer, question.views, question.subject));
      }),
    [],
  );

  const { data, isPlaceholderData } = answer;
  useEffect(() => {
    if (depth === null || data === undefined || isPlaceholderData) return;
    const views = new Map([['', neighbourView(data.around, data.step)]]);
    asked.current = { id: nextQuestion(), views, subject: `around ${node} ${depth}` };
    graphWorker.post({ type: 'layout', id: asked.current.id, open: [], scopes: layoutScopes(new Set(), views), answered: false });
  }, [data, isPlaceholderData, depth, node]);
  useEffect(() => {
    if (depth !== null) return;
    asked.current = null;
    setScene(null);
  }, [depth]);

  if (depth === null) return NOWHERE;
  if (answer.error !== null) return { depth, scene, note: answer.error.message };
  const note = data?.around.truncated ? `the nearest ${plural(data.around.nodes.length, 'node')}` : null;
  return { depth, scene, note };
}
