// The scene of the selected node's neighbourhood, if the address asks for one.

import { useMemo } from 'react';
import { neighbourView } from '../graph/neighbourhood';
import type { Scene } from '../graph/scene';
import { describe } from '../state/describe';
import { useNeighbours } from '../state/queries';
import * as counts from '../words/counts';
import { nearestOnly } from '../words/graph';
import { useJobContext } from './job_context';
import { useViewScene } from './use_view_scene';

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
  const { data, error, isPlaceholderData } = useNeighbours(id, node, depth, route?.rank ?? 0);
  const answer = isPlaceholderData ? undefined : data;
  const view = useMemo(() => (answer === undefined ? undefined : neighbourView(answer.around, answer.step)), [answer]);
  const scene = useViewScene(depth === null ? null : view, `around ${node} ${depth}`);
  if (depth === null) return NOWHERE;
  if (error !== null) return { depth, scene, note: describe(error) };
  const note = data?.around.truncated ? nearestOnly(counts.nodes(data.around.nodes.length)) : null;
  return { depth, scene, note };
}
