// The kind of a node: a letter in a shape that matches its box in the graph. The style sheet
// draws the letter, so that it is not part of an accessible name.

import type { Category, NodeKind } from '../api/types';
import './kind_icon.css';

export function KindIcon({ kind, category }: { kind: NodeKind; category: Category }) {
  return <span className={`kind-icon kind-${kind} cat-${category}`} aria-hidden />;
}
