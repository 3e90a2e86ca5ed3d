// The scene of the selected node's neighbourhood, if the address asks for one.

import { useEffect, useRef, useState } from 'react';
import type { ScopeView } from '../api/types';
import { neighbourView } from '../graph/neighbourhood';
import { buildScene, layoutScopes, type Scene } from '../graph/scene';
import { graphWorker } from '../worker/client';
import { describe } from '../state/describe';
import { useNeighbours } from '../state/queries';
import * as counts from '../words/counts';
import { nearestOnly } from '../words/graph';
import { useJobContext } from './job_context';
import { layoutIds } from './layout_ids';

export interface NeighbourScene {
  // Null if the whole graph is to be shown.
  depth: number | null;
  // Null until the layout is done.
  scene: Scene | null;
  // An error, or a note that nodes are missing.
  note: string | null;
}

const NOWHERE: NeighbourScene = { depth: null, scene: null, note: null };

export function useNeighbourScene(): NeighbourScene {
  const { id, route } = useJobContext();
  const node = route?.node ?? null;
  const depth = node === null ? null : (route?.around ?? null);
  const answer = useNeighbours(id, node, depth, route?.rank ?? 0);
  const [scene, setScene] = useState<Scene | null>(null);
  const request = useRef<{ id: number; views: Map<string, ScopeView>; subject: string } | null>(null);

  useEffect(
    () =>
      graphWorker.subscribe((message) => {
        const sent = request.current;
        if (message.type !== 'layout' || message.answer.id !== sent?.id) return;
        setScene(buildScene(message.answer, sent.views, sent.subject));
      }),
    [],
  );

  const { data, isPlaceholderData } = answer;
  useEffect(() => {
    if (depth === null || data === undefined || isPlaceholderData) return;
    const views = new Map([['', neighbourView(data.around, data.step)]]);
    request.current = { id: layoutIds.next(), views, subject: `around ${node} ${depth}` };
    graphWorker.post({ type: 'layout', id: request.current.id, open: [], scopes: layoutScopes(new Set(), views), answered: false });
  }, [data, isPlaceholderData, depth, node]);
  useEffect(() => {
    if (depth !== null) return;
    request.current = null;
    setScene(null);
  }, [depth]);

  if (depth === null) return NOWHERE;
  if (answer.error !== null) return { depth, scene, note: describe(answer.error) };
  const note = data?.around.truncated ? nearestOnly(counts.nodes(data.around.nodes.length)) : null;
  return { depth, scene, note };
}
