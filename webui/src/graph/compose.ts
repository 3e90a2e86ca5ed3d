// Lays out open scopes from the inside out, each on its own, and puts the pieces
// together. Layouts are cached by structure: equal blocks are laid out once.

import { layoutFlat, type FlatLayout } from './flat';
import {
  SCOPE_HEADER,
  SCOPE_PADDING,
  type LayoutAnswer,
  type LayoutRequest,
  type LayoutScope,
  type PlacedBox,
  type PlacedRoute,
} from './layout_types';

// The canvas is wide; inside a scope squarer pieces pack better.
const TOP_ASPECT = 1.7;
const INNER_ASPECT = 1.0;
const MAX_CACHED = 2000;

export class LayoutCache {
  private readonly kept = new Map<string, FlatLayout>();
  hits = 0;

  get(key: string, make: () => FlatLayout): FlatLayout {
    const found = this.kept.get(key);
    if (found !== undefined) {
      this.hits += 1;
      return found;
    }
    if (this.kept.size >= MAX_CACHED) this.kept.clear();
    const made = make();
    this.kept.set(key, made);
    return made;
  }
}

interface Piece {
  layout: FlatLayout;
  widths: number[];
  heights: number[];
}

function pieceOf(
  name: string,
  request: LayoutRequest,
  cache: LayoutCache,
  pieces: Map<string, Piece>,
): Piece {
  const scope = request.scopes[name] as LayoutScope;
  const widths: number[] = [];
  const heights: number[] = [];
  for (const node of scope.nodes) {
    if (request.scopes[node.name] === undefined || node.name === name) {
      widths.push(node.width);
      heights.push(node.height);
      continue;
    }
    const inner = pieceOf(node.name, request, cache, pieces).layout;
    widths.push(Math.max(inner.width + 2 * SCOPE_PADDING, node.width));
    heights.push(inner.height + SCOPE_HEADER + 2 * SCOPE_PADDING);
  }
  const aspect = name === '' ? TOP_ASPECT : INNER_ASPECT;
  const key = JSON.stringify([aspect, widths, heights, scope.edges]);
  const layout = cache.get(key, () => layoutFlat({ widths, heights, edges: scope.edges, aspect }));
  const piece = { layout, widths, heights };
  pieces.set(name, piece);
  return piece;
}

function shiftRoute(points: readonly number[], dx: number, dy: number): number[] {
  const shifted: number[] = [];
  for (let i = 0; i < points.length; i += 3) {
    shifted.push(
      (points[i] as number) + dx,
      (points[i + 1] as number) + dy,
      points[i + 2] as number,
    );
  }
  return shifted;
}

export function composeLayout(request: LayoutRequest, cache: LayoutCache): LayoutAnswer {
  const pieces = new Map<string, Piece>();
  if (request.scopes[''] === undefined) {
    return { id: request.id, width: 0, height: 0, boxes: [], routes: [] };
  }
  const top = pieceOf('', request, cache, pieces);
  const boxes: PlacedBox[] = [];
  const routes: PlacedRoute[] = [];
  const place = (name: string, x: number, y: number, depth: number) => {
    const piece = pieces.get(name) as Piece;
    const scope = request.scopes[name] as LayoutScope;
    piece.layout.routes.forEach((points, edge) => {
      if (points !== null) routes.push({ scope: name, edge, points: shiftRoute(points, x, y) });
    });
    scope.nodes.forEach((node, i) => {
      const left = x + (piece.layout.x[i] as number);
      const upper = y + (piece.layout.y[i] as number);
      const width = piece.widths[i] as number;
      const open = pieces.has(node.name);
      boxes.push({
        name: node.name,
        parent: name,
        depth,
        open,
        x: left,
        y: upper,
        width,
        height: piece.heights[i] as number,
      });
      if (!open) return;
      const inner = (pieces.get(node.name) as Piece).layout.width;
      place(
        node.name,
        left + (width - inner) / 2,
        upper + SCOPE_HEADER + SCOPE_PADDING,
        depth + 1,
      );
    });
  };
  place('', 0, 0, 0);
  return { id: request.id, width: top.layout.width, height: top.layout.height, boxes, routes };
}
