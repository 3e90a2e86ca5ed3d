// What the page asks of the layout, and what it gets back.

export interface LayoutNode {
  name: string;
  width: number;
  height: number;
  // The node beside which it stands, as an index into `nodes`; -1: nowhere but in
  // its own place. Only what one other node reads stands beside it.
  beside: number;
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

// Packed, so that it crosses from the worker without a copy.
export interface LayoutAnswer {
  id: number;
  width: number;
  height: number;
  // Open scopes, each before what it holds.
  scopes: string[];
  // By scope in that order, and in it by node: x, y, width, height in the whole.
  boxes: Float32Array<ArrayBuffer>;
  // By scope, and in it by edge: where its points end; equal to the one before for
  // an edge from a node to itself.
  pointEnds: Uint32Array<ArrayBuffer>;
  // x, y, mode: see RoutePoints.
  points: Float32Array<ArrayBuffer>;
}

export const SCOPE_HEADER = 26;
export const SCOPE_PADDING = 14;
