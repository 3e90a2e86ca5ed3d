// Marks that are drawn on the nodes.

import type { HealthLookup } from './health_colours';
import type { PathTo } from './scene';

// NaN or infinity started at the node, or came from its inputs.
export type Trail = 'origin' | 'propagated';

// How a node differs from the same node of another run.
export type NodeDifference = 'first' | 'later' | 'only_here';

export interface Marks {
  selected: string | null;
  hovered: string | null;
  // The node at which the job is paused.
  current: string | null;
  // Number of hits by node, scope and aggregate.
  hits: ReadonlyMap<string, number>;
  // Nodes, scopes and aggregates with NaN or infinity in the newest step that has any.
  trail: ReadonlyMap<string, Trail>;
  // Producers and consumers of the selected node's tensors.
  producers: ReadonlySet<string>;
  consumers: ReadonlySet<string>;
  pathTo: PathTo;
  // The nodes that differ, while two runs are compared.
  differences?: ReadonlyMap<string, NodeDifference>;
  // The health of the ops, while it colours the boxes.
  health?: HealthLookup | null;
}
