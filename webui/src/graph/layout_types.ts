// Request and answer of the layout of open scopes.

export interface LayoutNode {
  name: string;
  width: number;
  height: number;
  // Index of the node beside which this one is placed, or -1 for a place of its own. Only a node
  // with a single reader is placed beside it.
  beside: number;
  // The place inside that node, from its top, or -1.
  inset: number;
}

export interface LayoutScope {
  nodes: LayoutNode[];
  // Pairs of indices into `nodes`.
  edges: Array<[number, number]>;
  // Open scopes whose children are among `nodes`, in their place.
  spread: string[];
}

export interface LayoutRequest {
  id: number;
  // Open scopes by name; the top scope is "". A child is open if its name is a key.
  scopes: Record<string, LayoutScope>;
}

// Packed, so that the worker can transfer it without a copy.
export interface LayoutAnswer {
  id: number;
  width: number;
  height: number;
  // Open scopes, each before the scopes inside it.
  scopes: string[];
  // Open scopes whose children are drawn among their siblings.
  spread: string[];
  // By scope in that order and by node: x, y, width and height in the whole drawing.
  boxes: Float32Array<ArrayBuffer>;
  // By scope and by edge: the end of its points. An edge from a node to itself has none.
  pointEnds: Uint32Array<ArrayBuffer>;
  // x, y, mode: see RoutePoints.
  points: Float32Array<ArrayBuffer>;
}

export const SCOPE_HEADER = 26;
export const SCOPE_PADDING = 14;
