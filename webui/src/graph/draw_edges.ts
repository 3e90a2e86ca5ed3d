// Draws the edges of a scope. All edges of a kind are in one path, because a stroke costs more than
// a line.

import type { Rect } from './camera';
import { BLOCK_SCALE } from './draw_boxes';
import type { Marks } from './marks';
import type { Picture } from './renderer';
import { boxOf, type Box, type Scene, type SceneScope } from './scene';

const CORNER = 6;
// Edges are faint while boxes move.
const MOTION_ALPHA = 0.35;

// Adds smooth steps and straight lines with rounded corners: see RoutePoints.
export function tracePath(
  context: CanvasRenderingContext2D,
  points: ArrayLike<number>,
  begin = 0,
  end = points.length,
): void {
  const at = (i: number) => points[i] as number;
  context.moveTo(at(begin), at(begin + 1));
  for (let i = begin + 3; i < end; i += 3) {
    const x = at(i);
    const y = at(i + 1);
    const mode = at(i + 2);
    if (mode === 0) {
      const middle = (at(i - 2) + y) / 2;
      context.bezierCurveTo(at(i - 3), middle, x, middle, x, y);
    } else if (mode === 2) {
      const middle = (at(i - 3) + x) / 2;
      context.bezierCurveTo(middle, at(i - 2), middle, y, x, y);
    } else if (i + 3 < end && at(i + 5) === 1) {
      context.arcTo(x, y, at(i + 3), at(i + 4), CORNER);
    } else {
      context.lineTo(x, y);
    }
  }
}

function traceArrow(context: CanvasRenderingContext2D, points: ArrayLike<number>, end: number, size: number): void {
  const x = points[end - 3] as number;
  const y = points[end - 2] as number;
  context.moveTo(x, y);
  if (points[end - 1] === 2) {
    context.lineTo(x - size * 1.5, y - size * 0.85);
    context.lineTo(x - size * 1.5, y + size * 0.85);
  } else {
    const down = y >= (points[end - 5] as number) ? 1 : -1;
    context.lineTo(x - size, y - size * 1.6 * down);
    context.lineTo(x + size, y - size * 1.6 * down);
  }
  context.closePath();
}

// By scope: the left, top, right and bottom of each edge.
const bounds = new WeakMap<SceneScope, Float32Array>();

function boundsOf(scope: SceneScope, points: Float32Array): Float32Array {
  const known = bounds.get(scope);
  if (known !== undefined) return known;
  const made = new Float32Array(scope.pointEnds.length * 4);
  let at = scope.firstPoint;
  scope.pointEnds.forEach((end, edge) => {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (; at < end; at += 3) {
      left = Math.min(left, points[at] as number);
      right = Math.max(right, points[at] as number);
      top = Math.min(top, points[at + 1] as number);
      bottom = Math.max(bottom, points[at + 1] as number);
    }
    made.set([left, top, right, bottom], edge * 4);
  });
  bounds.set(scope, made);
  return made;
}

function visibleEdges(scope: SceneScope, scene: Scene, seen: Rect): number[] {
  const box = boundsOf(scope, scene.points);
  const right = seen.x + seen.width;
  const bottom = seen.y + seen.height;
  const visible: number[] = [];
  for (let edge = 0; edge < scope.pointEnds.length; edge += 1) {
    const i = edge * 4;
    const outside =
      (box[i] as number) > right ||
      (box[i + 1] as number) > bottom ||
      (box[i + 2] as number) < seen.x ||
      (box[i + 3] as number) < seen.y;
    if (!outside) visible.push(edge);
  }
  return visible;
}

interface Style {
  colour: string;
  width: number;
  dash: number[];
  arrow: number;
}

// In drawing order. 'trail' edges carried NaN or infinity; 'adjacent' edges touch the selected or
// hovered node.
const KINDS = ['plain', 'bundle', 'control', 'trail', 'adjacent'] as const;
type Kind = (typeof KINDS)[number];

function styleOf(kind: Kind, { palette }: Picture): Style {
  switch (kind) {
    case 'plain':
      return { colour: palette.edge, width: 1, dash: [], arrow: 3.2 };
    case 'bundle':
      return { colour: palette.edge, width: 1.9, dash: [], arrow: 3.8 };
    case 'control':
      return { colour: palette.edge, width: 1, dash: [4, 4], arrow: 3 };
    case 'trail':
      return { colour: palette.hit, width: 2.2, dash: [9, 3], arrow: 4.4 };
    case 'adjacent':
      return { colour: palette.edgeStrong, width: 1.8, dash: [], arrow: 4 };
  }
}

const BUNDLE_TENSORS = 4;

function kindOf(scope: SceneScope, edge: number, marks: Marks): Kind {
  const { from, to, kind, tensors } = scope.edges[edge] as SceneScope['edges'][number];
  const is = (name: string | null) => name !== null && (from === name || to === name);
  if (is(marks.selected) || is(marks.hovered)) return 'adjacent';
  if (marks.trail.size > 0 && marks.trail.has(from) && marks.trail.get(to) === 'propagated') return 'trail';
  if (kind === 'control') return 'control';
  return tensors >= BUNDLE_TENSORS ? 'bundle' : 'plain';
}

function drawKind(
  context: CanvasRenderingContext2D,
  scope: SceneScope,
  edges: readonly number[],
  style: Style,
  picture: Picture,
): void {
  const { points } = picture.scene;
  const { scale } = picture.camera;
  const beginOf = (edge: number) => (edge === 0 ? scope.firstPoint : (scope.pointEnds[edge - 1] as number));
  context.strokeStyle = style.colour;
  context.lineWidth = Math.max(0.75 / scale, style.width);
  context.setLineDash(style.dash);
  context.beginPath();
  for (const edge of edges) tracePath(context, points, beginOf(edge), scope.pointEnds[edge]);
  context.stroke();
  context.setLineDash([]);
  if (scale <= 0.3) return;
  context.fillStyle = style.colour;
  context.beginPath();
  for (const edge of edges) traceArrow(context, points, scope.pointEnds[edge] as number, style.arrow);
  context.fill();
}

// At small scales: one stroke for all edges, without curves and arrows.
function drawFarEdges(
  context: CanvasRenderingContext2D,
  scope: SceneScope,
  edges: readonly number[],
  picture: Picture,
): void {
  const { points } = picture.scene;
  context.strokeStyle = picture.palette.edge;
  context.lineWidth = 0.6 / picture.camera.scale;
  context.beginPath();
  for (const edge of edges) {
    let at = edge === 0 ? scope.firstPoint : (scope.pointEnds[edge - 1] as number);
    context.moveTo(points[at] as number, points[at + 1] as number);
    for (at += 3; at < (scope.pointEnds[edge] as number); at += 3) {
      context.lineTo(points[at] as number, points[at + 1] as number);
    }
  }
  context.stroke();
}

export function drawEdges(
  context: CanvasRenderingContext2D,
  scope: SceneScope,
  seen: Rect,
  picture: Picture,
): void {
  const visible = visibleEdges(scope, picture.scene, seen);
  if (visible.length === 0) return;
  if (picture.motion !== null) context.globalAlpha = MOTION_ALPHA * picture.motion.share;
  if (picture.camera.scale < BLOCK_SCALE) {
    drawFarEdges(context, scope, visible, picture);
  } else {
    const kinds = new Map<Kind, number[]>();
    for (const edge of visible) {
      const kind = kindOf(scope, edge, picture.marks);
      const list = kinds.get(kind);
      if (list === undefined) kinds.set(kind, [edge]);
      else list.push(edge);
    }
    for (const kind of KINDS) {
      const edges = kinds.get(kind);
      if (edges !== undefined) drawKind(context, scope, edges, styleOf(kind, picture), picture);
    }
  }
  context.globalAlpha = 1;
}

// Draws the tensors of the selected node that cross scopes and so have no edge.
export function drawLinks(context: CanvasRenderingContext2D, { scene, marks, palette, camera }: Picture): void {
  const self = marks.selected === null ? undefined : scene.byName.get(marks.selected);
  if (self === undefined || self.open) return;
  context.strokeStyle = palette.select;
  context.lineWidth = Math.max(1.4, 1.2 / camera.scale);
  context.globalAlpha = 0.65;
  context.setLineDash([6, 4]);
  const around = new Set(marks.pathTo(self.name));
  const link = (from: Box, to: Box) => {
    if (from === to || from.parent === to.parent) return;
    if (around.has(from.name) || around.has(to.name)) return;
    const x1 = from.x + from.width / 2;
    const y1 = from.y + from.height;
    const x2 = to.x + to.width / 2;
    const bend = Math.max(40, Math.abs(to.y - y1) / 2);
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1, y1 + bend, x2, to.y - bend, x2, to.y);
    context.stroke();
  };
  for (const name of marks.producers) {
    const box = boxOf(scene, name, marks.pathTo);
    if (box !== null) link(box, self);
  }
  for (const name of marks.consumers) {
    const box = boxOf(scene, name, marks.pathTo);
    if (box !== null) link(self, box);
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
}
