// Lays out each open scope separately, from the inside out, and combines the results. Layouts are
// cached by structure, so equal blocks are laid out once.

import { placeBeside, type Stacks } from './beside';
import { layoutFlat } from './flat';
import type { FlatLayout } from './flat_types';
import {
  SCOPE_HEADER,
  SCOPE_PADDING,
  type LayoutAnswer,
  type LayoutRequest,
  type LayoutScope,
} from './layout_types';

// The canvas is wide; inside a scope, nearly square pieces pack better.
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
  scope: LayoutScope;
  layout: FlatLayout;
  widths: number[];
  heights: number[];
}

class Composer {
  readonly pieces = new Map<string, Piece>();

  constructor(
    private readonly request: LayoutRequest,
    private readonly cache: LayoutCache,
  ) {}

  pieceOf(name: string): Piece {
    const scope = this.request.scopes[name] as LayoutScope;
    const widths: number[] = [];
    const heights: number[] = [];
    for (const node of scope.nodes) {
      if (this.request.scopes[node.name] === undefined || node.name === name) {
        widths.push(node.width);
        heights.push(node.height);
        continue;
      }
      const inner = this.pieceOf(node.name).layout;
      widths.push(Math.max(inner.width + 2 * SCOPE_PADDING, node.width));
      heights.push(inner.height + SCOPE_HEADER + 2 * SCOPE_PADDING);
    }
    const aspect = name === '' ? TOP_ASPECT : INNER_ASPECT;
    const beside = scope.nodes.map((node) => node.beside);
    const insets = scope.nodes.map((node) => node.inset);
    const key = `${aspect};${widths.join()};${heights.join()};${beside.join()};${insets.join()};${scope.edges.join()}`;
    const layout = this.cache.get(key, () => {
      const stacks: Stacks = placeBeside(widths, heights, beside, insets);
      return stacks.spread(layoutFlat(stacks.reduce({ widths, heights, edges: scope.edges, aspect })));
    });
    const piece = { scope, layout, widths, heights };
    this.pieces.set(name, piece);
    return piece;
  }
}

interface Placement {
  name: string;
  x: number;
  y: number;
}

// Returns the position of the contents of each open scope, outer scopes first.
function placeScopes(pieces: ReadonlyMap<string, Piece>): Placement[] {
  const placed: Placement[] = [];
  const place = (name: string, x: number, y: number) => {
    placed.push({ name, x, y });
    const { scope, layout, widths } = pieces.get(name) as Piece;
    scope.nodes.forEach((node, i) => {
      const inner = node.name === name ? undefined : pieces.get(node.name);
      if (inner === undefined) return;
      const aside = ((widths[i] as number) - inner.layout.width) / 2;
      place(
        node.name,
        x + (layout.x[i] as number) + aside,
        y + (layout.y[i] as number) + SCOPE_HEADER + SCOPE_PADDING,
      );
    });
  };
  place('', 0, 0);
  return placed;
}

// Caches the layout of a scope in which all scopes are closed.
export function prepareLayout(scope: LayoutScope, cache: LayoutCache): void {
  // Any name other than that of the top scope, whose aspect differs.
  new Composer({ id: 0, scopes: { inside: scope } }, cache).pieceOf('inside');
}

function pack(id: number, pieces: ReadonlyMap<string, Piece>): LayoutAnswer {
  const placed = placeScopes(pieces);
  let nodes = 0;
  let edges = 0;
  let points = 0;
  for (const { name } of placed) {
    const { layout } = pieces.get(name) as Piece;
    nodes += layout.x.length;
    edges += layout.routes.length;
    for (const route of layout.routes) points += route?.length ?? 0;
  }
  const top = (pieces.get('') as Piece).layout;
  const answer: LayoutAnswer = {
    id,
    width: top.width,
    height: top.height,
    scopes: placed.map(({ name }) => name),
    spread: placed.flatMap(({ name }) => (pieces.get(name) as Piece).scope.spread),
    boxes: new Float32Array(nodes * 4),
    pointEnds: new Uint32Array(edges),
    points: new Float32Array(points),
  };
  let box = 0;
  let edge = 0;
  let point = 0;
  for (const { name, x, y } of placed) {
    const { layout, widths, heights } = pieces.get(name) as Piece;
    for (let i = 0; i < widths.length; i += 1) {
      answer.boxes[box++] = x + (layout.x[i] as number);
      answer.boxes[box++] = y + (layout.y[i] as number);
      answer.boxes[box++] = widths[i] as number;
      answer.boxes[box++] = heights[i] as number;
    }
    for (const route of layout.routes) {
      const length = route?.length ?? 0;
      for (let i = 0; i < length; i += 3) {
        answer.points[point++] = x + (route?.[i] as number);
        answer.points[point++] = y + (route?.[i + 1] as number);
        answer.points[point++] = route?.[i + 2] as number;
      }
      answer.pointEnds[edge++] = point;
    }
  }
  return answer;
}

export function composeLayout(request: LayoutRequest, cache: LayoutCache): LayoutAnswer {
  const composer = new Composer(request, cache);
  if (request.scopes[''] === undefined) {
    return {
      id: request.id,
      width: 0,
      height: 0,
      scopes: [],
      spread: [],
      boxes: new Float32Array(),
      pointEnds: new Uint32Array(),
      points: new Float32Array(),
    };
  }
  composer.pieceOf('');
  return pack(request.id, composer.pieces);
}
