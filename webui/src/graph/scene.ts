// The drawing: placed boxes with their nodes, edges with their ends, and the
// questions that pointer and keys ask of it.

import { ancestorsOf } from '../base/names';
import type { GraphEdge, GraphNode, ScopeView } from '../api/types';
import type { LayoutAnswer, LayoutRequest, PlacedBox } from './layout_types';
import { SCOPE_HEADER } from './layout_types';
import type { Rect } from './camera';
import { CHEVRON_ROOM, sizeOfNode } from './sizes';

export interface Box extends PlacedBox {
  node: GraphNode;
}

export interface SceneEdge extends GraphEdge {
  scope: string;
  points: number[];
  bounds: Rect;
}

export interface Scene {
  width: number;
  height: number;
  boxes: Box[];
  byName: Map<string, Box>;
  // By scope.
  edges: Map<string, SceneEdge[]>;
}

export const EMPTY_SCENE: Scene = {
  width: 0,
  height: 0,
  boxes: [],
  byName: new Map(),
  edges: new Map(),
};

// Scopes that are open all the way up and whose children are known.
export function shownScopes(
  open: ReadonlySet<string>,
  views: ReadonlyMap<string, ScopeView>,
): string[] {
  return ['', ...open].filter(
    (name) =>
      (views.get(name)?.nodes.length ?? 0) > 0 &&
      (name === '' || views.has('')) &&
      ancestorsOf(name).every((scope) => open.has(scope) && views.has(scope)),
  );
}

export function layoutScopes(
  open: ReadonlySet<string>,
  views: ReadonlyMap<string, ScopeView>,
): LayoutRequest['scopes'] {
  const scopes: LayoutRequest['scopes'] = {};
  for (const name of shownScopes(open, views)) {
    const view = views.get(name) as ScopeView;
    const place = new Map(view.nodes.map((node, index) => [node.name, index]));
    scopes[name] = {
      nodes: view.nodes.map((node) => ({ name: node.name, ...sizeOfNode(node) })),
      edges: knownEdges(view).map((edge) => [
        place.get(edge.from) as number,
        place.get(edge.to) as number,
      ]),
    };
  }
  return scopes;
}

function knownEdges(view: ScopeView): GraphEdge[] {
  const names = new Set(view.nodes.map((node) => node.name));
  return view.edges.filter((edge) => names.has(edge.from) && names.has(edge.to));
}

function boundsOf(points: readonly number[]): Rect {
  let left = Infinity;
  let right = -Infinity;
  let top = Infinity;
  let bottom = -Infinity;
  for (let i = 0; i < points.length; i += 3) {
    left = Math.min(left, points[i] as number);
    right = Math.max(right, points[i] as number);
    top = Math.min(top, points[i + 1] as number);
    bottom = Math.max(bottom, points[i + 1] as number);
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

// `views` must be those that the layout was asked with.
export function buildScene(
  answer: LayoutAnswer,
  views: ReadonlyMap<string, ScopeView>,
): Scene {
  const nodes = new Map<string, GraphNode>();
  const edgesOf = new Map<string, GraphEdge[]>();
  for (const [name, view] of views) {
    for (const node of view.nodes) nodes.set(node.name, node);
    edgesOf.set(name, knownEdges(view));
  }
  const boxes: Box[] = [];
  for (const placed of answer.boxes) {
    const node = nodes.get(placed.name);
    if (node !== undefined) boxes.push({ ...placed, node });
  }
  const edges = new Map<string, SceneEdge[]>();
  for (const route of answer.routes) {
    const edge = edgesOf.get(route.scope)?.[route.edge];
    if (edge === undefined) continue;
    const list = edges.get(route.scope) ?? [];
    list.push({ ...edge, scope: route.scope, points: route.points, bounds: boundsOf(route.points) });
    edges.set(route.scope, list);
  }
  return {
    width: answer.width,
    height: answer.height,
    boxes,
    byName: new Map(boxes.map((box) => [box.name, box])),
    edges,
  };
}

// The innermost box at a point.
export function boxAt(scene: Scene, x: number, y: number): Box | null {
  for (let i = scene.boxes.length - 1; i >= 0; i -= 1) {
    const box = scene.boxes[i] as Box;
    if (x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height) return box;
  }
  return null;
}

export function onChevron(box: Box, x: number, y: number): boolean {
  if (box.node.kind !== 'scope') return false;
  const height = box.open ? SCOPE_HEADER : box.height;
  return x <= box.x + CHEVRON_ROOM + 8 && y <= box.y + height;
}

// The box that stands for a node: its own, or the closed scope that hides it.
export function boxOf(scene: Scene, name: string): Box | null {
  const own = scene.byName.get(name);
  if (own !== undefined) return own;
  for (const scope of ancestorsOf(name).reverse()) {
    const box = scene.byName.get(scope);
    if (box !== undefined) return box;
  }
  return null;
}

export function leafBoxes(scene: Scene): Box[] {
  return scene.boxes.filter((box) => !box.open);
}
