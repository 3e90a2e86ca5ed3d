// What a node is: a letter in a shape that matches its box on the graph.

import type { Category, NodeKind } from '../api/types';
import './kind_icon.css';

const LETTERS: Record<NodeKind, string> = {
  scope: '',
  op: 'ƒ',
  parameter: 'P',
  buffer: 'B',
  constant: 'C',
  input: 'I',
  aggregate: 'Σ',
};

export function KindIcon({ kind, category }: { kind: NodeKind; category: Category }) {
  return (
    <span className={`kind-icon kind-${kind} cat-${category}`} aria-hidden>
      {LETTERS[kind] ?? ''}
    </span>
  );
}
