// What a tensor is made of and what is made of it, as a view of its own.

import type { GraphEdge, GraphNode, Neighbours, ScopeView, Statistics } from '../api/types';
import { compactCount, formatNumber } from '../base/format';
import { toNumber } from '../base/numbers';

// The last two parts of a name tell nodes of different modules apart.
function shortName(name: string): string {
  return name.split('/').slice(-2).join('/');
}

// What is worth knowing of a tensor at a glance.
export function edgeLabel(statistics: Statistics): { text: string; alarm: boolean } {
  const infinite = statistics.pos_inf_count + statistics.neg_inf_count;
  const parts: string[] = [];
  if (statistics.nan_count > 0) parts.push(`${compactCount(statistics.nan_count)} NaN`);
  if (infinite > 0) parts.push(`${compactCount(infinite)} ±Inf`);
  if (parts.length > 0) return { text: parts.join(' · '), alarm: true };
  if (statistics.abs_max === null) return { text: 'empty', alarm: false };
  const mean = statistics.mean === null ? '' : ` · mean ${formatNumber(toNumber(statistics.mean), 3)}`;
  return { text: `|max| ${formatNumber(toNumber(statistics.abs_max), 3)}${mean}`, alarm: false };
}

export function neighbourView({ nodes, edges, tensors }: Neighbours): ScopeView {
  const statistics = new Map(tensors.map((tensor) => [tensor.name, tensor.statistics]));
  const shown = nodes.map((node): GraphNode => ({ ...node, label: shortName(node.name) }));
  const lines = new Map<string, GraphEdge>();
  for (const { from, slot, to, kind } of edges) {
    const key = `${from}\n${to}\n${kind}`;
    const known = lines.get(key);
    if (known !== undefined) {
      known.tensors += 1;
      continue;
    }
    const about = statistics.get(`${from}:${slot}`) ?? null;
    const edge: GraphEdge = { from, to, tensors: 1, kind };
    lines.set(key, about === null ? edge : { ...edge, label: edgeLabel(about) });
  }
  return { scope: '', nodes: shown, edges: [...lines.values()] };
}
