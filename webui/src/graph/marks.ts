// What is marked on the drawing besides the nodes themselves.

export interface Marks {
  selected: string | null;
  hovered: string | null;
  // Where the job stands.
  current: string | null;
  // Hits by node, and by every scope around it.
  hits: ReadonlyMap<string, number>;
  // Tensors' producers and consumers of the selected node.
  producers: ReadonlySet<string>;
  consumers: ReadonlySet<string>;
}
