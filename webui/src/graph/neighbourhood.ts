// The neighbourhood of a tensor as a view: the nodes that it is computed from and those that use it.

import type { EdgeNote, GraphEdge, GraphNode, Neighbours, ScopeView, Statistics } from '../api/types';
import { compactCount, formatNumber } from '../base/format';
import { toNumber } from '../base/numbers';
import * as words from '../words/graph';

// The last two segments of a name, which distinguish nodes of different modules.
function shortName(name: string): string {
  return name.split('/').slice(-2).join('/');
}

// A summary of a tensor: NaN and infinities, if any, else its range.
export function edgeNote(statistics: Statistics): EdgeNote {
  const { pos_inf_count: above, neg_inf_count: below } = statistics;
  const parts: string[] = [];
  if (statistics.nan_count > 0) parts.push(words.nanCount(compactCount(statistics.nan_count)));
  if (above + below > 0) parts.push(words.infinityCount(compactCount(above + below), above > 0, below > 0));
  if (parts.length > 0) return { text: parts.join(' · '), alarm: true };
  if (statistics.abs_max === null) return { text: words.emptyTensor, alarm: false };
  const mean = statistics.mean === null ? null : formatNumber(toNumber(statistics.mean), 3);
  return { text: words.magnitude(formatNumber(toNumber(statistics.abs_max), 3), mean), alarm: false };
}

type TensorState = Pick<Neighbours['tensors'][number], 'statistics' | 'statistics_step'>;

const UNKNOWN: TensorState = { statistics: null, statistics_step: null };

// Notes on the node's outputs with known statistics, in order. With several outputs a note names its
// slot; for statistics of an earlier step, also the step.
function notesOf(node: GraphNode, known: ReadonlyMap<string, TensorState>, now: number): EdgeNote[] {
  const notes: EdgeNote[] = [];
  for (const { slot } of node.outputs) {
    const { statistics, statistics_step: step } = known.get(`${node.name}:${slot}`) ?? UNKNOWN;
    if (statistics === null) continue;
    const { text, alarm } = edgeNote(statistics);
    const which = node.outputs.length > 1 ? `:${slot}  ` : '';
    const when = step === null || step === now ? '' : words.ofStep(step);
    notes.push({ text: `${which}${text}${when}`, alarm });
  }
  return notes;
}

interface Neighbourhood {
  nodes: readonly GraphNode[];
  edges: Neighbours['edges'];
  tensors: ReadonlyArray<{ name: string } & TensorState>;
}

export function neighbourView({ nodes, edges, tensors }: Neighbourhood, step: number): ScopeView {
  const known = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const shown = nodes.map((node): GraphNode => {
    const notes = notesOf(node, known, step);
    return { ...node, label: shortName(node.name), ...(notes.length > 0 ? { notes } : {}) };
  });
  const lines = new Map<string, GraphEdge>();
  for (const { from, to, kind } of edges) {
    const key = `${from}\n${to}\n${kind}`;
    const line = lines.get(key);
    if (line === undefined) lines.set(key, { from, to, tensors: 1, kind });
    else line.tensors += 1;
  }
  return { scope: '', nodes: shown, edges: [...lines.values()] };
}
