// The same op in other layers: nodes whose names differ in the number of one scope.

import { NONE, type GraphIndex } from './graph_index';
import { stemOf } from './aggregates';

export interface Peer {
  name: string;
  // The scope that differs: "h/1", or "layer2".
  layer: string;
}

// Those of the innermost numbered scope come first, the nearest numbers first.
export function peersOf(index: GraphIndex, node: string, limit: number): Peer[] {
  const parts = node.split('/');
  const peers: Peer[] = [];
  for (let at = parts.length - 2; at > 0; at -= 1) {
    const part = parts[at] as string;
    const number = numberOf(part);
    if (number === null) continue;
    const around = index.findScope(parts.slice(0, at).join('/'));
    if (around === NONE) continue;
    const siblings = [...index.childrenOf(around)]
      .filter((child) => index.isScope(child))
      .map((child) => index.label(child))
      .filter((label) => label !== part && numberOf(label) !== null && stemOf(label) === stemOf(part));
    siblings.sort((a, b) => Math.abs(Number(numberOf(a)) - number) - Math.abs(Number(numberOf(b)) - number));
    for (const label of siblings) {
      const name = parts.with(at, label).join('/');
      const found = index.find(name);
      if (found === NONE || index.isScope(found)) continue;
      peers.push({ name, layer: /^\d+$/.test(label) ? `${parts[at - 1]}/${label}` : label });
      if (peers.length === limit) return peers;
    }
  }
  return peers;
}

function numberOf(label: string): number | null {
  const digits = /\d+$/.exec(label);
  return digits === null ? null : Number(digits[0]);
}
