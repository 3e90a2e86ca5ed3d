// What the page asks of the layout worker, and what it gets back.

export interface LayoutNode {
  name: string;
  width: number;
  height: number;
}

export interface LayoutScope {
  nodes: LayoutNode[];
  // Pairs of indices into `nodes`.
  edges: Array<[number, number]>;
}

export interface LayoutRequest {
  id: number;
  // Open scopes by name, the top as "". A child that is a key here is open.
  scopes: Record<string, LayoutScope>;
}

// Places in the whole drawing.
export interface PlacedBox {
  name: string;
  // Scope that holds it.
  parent: string;
  depth: number;
  open: boolean;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface PlacedRoute {
  scope: string;
  // Index into the scope's edges.
  edge: number;
  points: number[];
}

export interface LayoutAnswer {
  id: number;
  width: number;
  height: number;
  // Scopes before what they hold.
  boxes: PlacedBox[];
  routes: PlacedRoute[];
}

export const SCOPE_HEADER = 26;
export const SCOPE_PADDING = 14;
