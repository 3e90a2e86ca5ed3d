// The server's search results beyond the index, which has only names and innermost lines: nodes by
// the code and by the other frames of their stacks.

import { useEffect, useState } from 'react';
import type { GraphNode } from '../api/types';
import type { GraphIndex } from '../index/graph_index';
import { NONE } from '../index/graph_index';
import type { Query } from '../index/query';

// A search of all stacks for every key would delay the job's other requests.
const SETTLE_MS = 150;

// Returns whether the server can find more than the index for a query.
export function searchesCode({ words, file, kind, pattern, problem }: Query): boolean {
  const text = words.length > 0 || file !== null;
  return text && kind !== 'scope' && pattern === null && problem === null;
}

// The text once it has not changed for a moment.
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

// The nodes that are not among the items.
export function beyond(nodes: readonly GraphNode[], index: GraphIndex, items: Uint32Array): GraphNode[] {
  if (nodes.length === 0) return [];
  const found = new Uint8Array(index.scopeCount + index.nodeCount);
  for (const item of items) found[item] = 1;
  return nodes.filter(({ name }) => {
    const item = index.find(name);
    return item === NONE || found[item] !== 1;
  });
}
