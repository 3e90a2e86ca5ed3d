// The scene: positioned boxes with their nodes, edges with their routes, and look-ups for pointer
// and keyboard.

import type { GraphEdge, GraphNode, ScopeView } from '../api/types';
import type { LayoutAnswer, LayoutNode, LayoutRequest, LayoutScope } from './layout_types';
import { SCOPE_HEADER } from './layout_types';
import { besideOf } from './beside_rule';
import type { Rect } from './camera';
import { interleavedOf } from './interleaved';
import { CHEVRON_ROOM, noteRoom, sizeBeside, sizeOfNode, WEIGHT_MARGIN, WEIGHT_ROW } from './sizes';

export interface Box extends Rect {
  name: string;
  // The scope or aggregate that contains it.
  parent: string;
  depth: number;
  open: boolean;
  // Placed beside its only consumer, or inside it, with one line of text.
  beside: boolean;
  inside: boolean;
  node: GraphNode;
}

// The contents of an open scope. Edges stay packed because few of them are ever inspected.
export interface SceneScope {
  name: string;
  boxes: Box[];
  edges: readonly GraphEdge[];
  // By edge: the end of its points in those of the scene; the first edge's start at `firstPoint`.
  pointEnds: Uint32Array;
  firstPoint: number;
}

export interface Scene {
  id: number;
  // Identifies what is drawn. The camera starts over when the subject changes.
  subject: string;
  width: number;
  height: number;
  // Each box is after the scope that contains it.
  boxes: Box[];
  byName: Map<string, Box>;
  scopes: Map<string, SceneScope>;
  // x, y, mode: see RoutePoints.
  points: Float32Array;
}

export const EMPTY_SCENE: Scene = {
  id: 0,
  subject: '',
  width: 0,
  height: 0,
  boxes: [],
  byName: new Map(),
  scopes: new Map(),
  points: new Float32Array(),
};

export function canOpen(node: GraphNode): boolean {
  return (node.kind === 'scope' || node.kind === 'aggregate') && node.child_count > 0;
}

// Returns all known scopes and aggregates.
export function everyScope(views: ReadonlyMap<string, ScopeView>): Set<string> {
  const open = new Set<string>();
  const look = (name: string) => {
    for (const node of views.get(name)?.nodes ?? []) {
      if (node.child_count === 0 || open.has(node.name)) continue;
      open.add(node.name);
      look(node.name);
    }
  };
  look('');
  return open;
}

// Views that can also be drawn with the children of some scopes in their place.
export interface Views extends ReadonlyMap<string, ScopeView> {
  spread?: (scope: string, inner: readonly string[]) => ScopeView;
}

interface DrawnScope {
  name: string;
  view: ScopeView;
  // Scopes in it whose children are drawn in their place.
  spread: string[];
}

function drawnScope(name: string, views: Views, spreads: (scope: string) => boolean): DrawnScope | null {
  const view = views.get(name);
  if (view === undefined) return null;
  if (views.spread === undefined) return { name, view, spread: [] };
  const spread = [...interleavedOf(view)].filter(spreads);
  return { name, view: spread.length === 0 ? view : views.spread(name, spread), spread };
}

// Returns the scopes that are visible, open and known, outer ones first.
export function shownScopes(open: ReadonlySet<string>, views: Views): DrawnScope[] {
  const shown: DrawnScope[] = [];
  const look = (name: string) => {
    const drawn = drawnScope(name, views, (scope) => open.has(scope));
    if (drawn === null || drawn.view.nodes.length === 0) return;
    shown.push(drawn);
    for (const node of drawn.view.nodes) {
      if (canOpen(node) && node.name !== name && open.has(node.name)) look(node.name);
    }
  };
  look('');
  return shown;
}

function knownEdges(view: ScopeView): readonly GraphEdge[] {
  const names = new Set(view.nodes.map((node) => node.name));
  const known = (edge: GraphEdge) => names.has(edge.from) && names.has(edge.to);
  return view.edges.every(known) ? view.edges : view.edges.filter(known);
}

// Data of a view that both layout and drawing need. Cached, as views are immutable.
interface Prepared {
  edges: readonly GraphEdge[];
  layout: LayoutScope;
}

const prepared = new WeakMap<ScopeView, Prepared>();

function prepare(view: ScopeView): Prepared {
  const known = prepared.get(view);
  if (known !== undefined) return known;
  const place = new Map(view.nodes.map((node, index) => [node.name, index]));
  const edges = knownEdges(view);
  const pairs = edges.map((edge): [number, number] => [
    place.get(edge.from) as number,
    place.get(edge.to) as number,
  ]);
  const beside = besideOf(view.nodes, pairs);
  const inside = insideOf(view.nodes, place);
  const nodes = view.nodes.map((node, i) => {
    const within = inside[i];
    if (within !== undefined) return { name: node.name, ...within };
    const { width, height } = (beside[i] as number) < 0 ? sizeOfNode(node) : sizeBeside(node);
    return { name: node.name, beside: beside[i] as number, inset: -1, width, height: height + noteRoom(node) };
  });
  growAround(nodes);
  const made = { edges, layout: { nodes, edges: pairs, spread: [] } };
  prepared.set(view, made);
  return made;
}

type Within = Pick<LayoutNode, 'beside' | 'inset' | 'width' | 'height'>;

// By node: its place inside the op that it belongs to.
function insideOf(nodes: readonly GraphNode[], place: ReadonlyMap<string, number>): Array<Within | undefined> {
  const rows = new Map<number, number>();
  return nodes.map((node) => {
    const op = node.inside === undefined ? undefined : place.get(node.inside);
    if (op === undefined) return undefined;
    const row = rows.get(op) ?? 0;
    rows.set(op, row + 1);
    return { beside: op, inset: sizeOfNode(nodes[op] as GraphNode).height + row * WEIGHT_ROW, width: sizeBeside(node).width, height: WEIGHT_ROW };
  });
}

// Makes ops as large as the weights inside them need, and those weights as wide as their op.
function growAround(nodes: LayoutNode[]): void {
  for (const { beside, inset, width } of nodes) {
    const op = nodes[beside];
    if (op === undefined || inset < 0) continue;
    op.width = Math.max(op.width, width + 2 * WEIGHT_MARGIN);
    op.height = Math.max(op.height, inset + WEIGHT_ROW + WEIGHT_MARGIN);
  }
  for (const node of nodes) if (node.inset >= 0) node.width = (nodes[node.beside] as LayoutNode).width - 2 * WEIGHT_MARGIN;
}

export function layoutOf(view: ScopeView): LayoutScope {
  return prepare(view).layout;
}

export function layoutScopes(
  open: ReadonlySet<string>,
  views: Views,
): LayoutRequest['scopes'] {
  const scopes: LayoutRequest['scopes'] = {};
  for (const { name, view, spread } of shownScopes(open, views)) {
    scopes[name] = { ...prepare(view).layout, spread };
  }
  return scopes;
}

// The views that a layout was made of, in its order.
export function viewsOf({ scopes, spread }: LayoutAnswer, views: Views): DrawnScope[] {
  const spreads = new Set(spread);
  return scopes.map((name) => drawnScope(name, views, (scope) => spreads.has(scope)) as DrawnScope);
}

// Builds the scene of a layout. `views` must be those that were laid out.
export function buildScene(
  answer: LayoutAnswer,
  views: Views,
  subject = '',
): Scene {
  const scene: Scene = {
    id: answer.id,
    subject,
    width: answer.width,
    height: answer.height,
    boxes: [],
    byName: new Map(),
    scopes: new Map(),
    points: answer.points,
  };
  const open = new Set(answer.scopes);
  let at = 0;
  let edge = 0;
  for (const { name, view } of viewsOf(answer, views)) {
    const depth = (scene.byName.get(name)?.depth ?? -1) + 1;
    const { edges, layout } = prepare(view);
    const boxes = view.nodes.map((node, i): Box => ({
      name: node.name,
      parent: name,
      depth,
      open: node.name !== name && canOpen(node) && open.has(node.name),
      beside: (layout.nodes[i] as LayoutNode).beside >= 0,
      inside: (layout.nodes[i] as LayoutNode).inset >= 0,
      x: answer.boxes[at++] as number,
      y: answer.boxes[at++] as number,
      width: answer.boxes[at++] as number,
      height: (answer.boxes[at++] as number) - noteRoom(node),
      node,
    }));
    const firstPoint = edge === 0 ? 0 : (answer.pointEnds[edge - 1] as number);
    const pointEnds = answer.pointEnds.subarray(edge, edge + edges.length);
    edge += edges.length;
    scene.scopes.set(name, { name, boxes, edges, pointEnds, firstPoint });
    for (const box of boxes) {
      scene.boxes.push(box);
      scene.byName.set(box.name, box);
    }
  }
  return scene;
}

const contains = (box: Box, x: number, y: number) =>
  x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;

// Returns the innermost box at a point. Weights follow the op that contains them.
export function boxAt(scene: Scene, x: number, y: number): Box | null {
  let found: Box | null = null;
  let inside = scene.scopes.get('');
  while (inside !== undefined) {
    const box = inside.boxes.findLast((candidate) => contains(candidate, x, y));
    if (box === undefined) break;
    found = box;
    inside = box.open ? scene.scopes.get(box.name) : undefined;
  }
  return found;
}

export function onChevron(box: Box, x: number, y: number): boolean {
  if (!canOpen(box.node)) return false;
  const height = box.open ? SCOPE_HEADER : box.height;
  return x <= box.x + CHEVRON_ROOM + 8 && y <= box.y + height;
}

// Returns the scopes and aggregates that contain a node, outermost first.
export type PathTo = (name: string) => readonly string[];

// Returns the box of a node, or that of the closed scope that contains it.
export function boxOf(scene: Scene, name: string, pathTo: PathTo): Box | null {
  const own = scene.byName.get(name);
  if (own !== undefined) return own;
  for (const scope of pathTo(name).toReversed()) {
    const box = scene.byName.get(scope);
    if (box !== undefined) return box;
  }
  return null;
}

export function leafBoxes(scene: Scene): Box[] {
  return scene.boxes.filter((box) => !box.open && !box.inside);
}
