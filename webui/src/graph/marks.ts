// What is marked on the drawing besides the nodes themselves.

import type { PathTo } from './scene';

// How a node came to its values that are not finite.
export type Trail = 'origin' | 'propagated';

export interface Marks {
  selected: string | null;
  hovered: string | null;
  // Where the job stands.
  current: string | null;
  // Hits by node, and by every scope around it.
  hits: ReadonlyMap<string, number>;
  // Where values that are not finite came up and went, likewise.
  trail: ReadonlyMap<string, Trail>;
  // Tensors' producers and consumers of the selected node.
  producers: ReadonlySet<string>;
  consumers: ReadonlySet<string>;
  pathTo: PathTo;
}
