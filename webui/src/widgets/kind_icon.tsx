// What a node is: a letter in a shape that matches its box on the graph. The letter is
// drawn by the style sheet, so that it is no part of any name.

import type { Category, NodeKind } from '../api/types';
import './kind_icon.css';

export function KindIcon({ kind, category }: { kind: NodeKind; category: Category }) {
  return <span className={`kind-icon kind-${kind} cat-${category}`} aria-hidden />;
}
