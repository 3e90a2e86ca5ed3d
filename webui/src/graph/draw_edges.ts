// Edges of one scope.

import type { Camera, Rect } from './camera';
import { intersects } from './camera';
import { BLOCK_SCALE } from './draw_boxes';
import type { Marks } from './marks';
import type { Palette } from './palette';
import type { Box, Scene, SceneEdge } from './scene';

const CORNER = 6;

// Smooth steps and rounded straight lines: see RoutePoints.
export function tracePath(context: CanvasRenderingContext2D, points: readonly number[]): void {
  const at = (i: number) => points[i] as number;
  context.moveTo(at(0), at(1));
  for (let i = 3; i < points.length; i += 3) {
    const x = at(i);
    const y = at(i + 1);
    if (at(i + 2) === 0) {
      const middle = (at(i - 2) + y) / 2;
      context.bezierCurveTo(at(i - 3), middle, x, middle, x, y);
    } else if (i + 3 < points.length && at(i + 5) === 1) {
      context.arcTo(x, y, at(i + 3), at(i + 4), CORNER);
    } else {
      context.lineTo(x, y);
    }
  }
}

function drawArrow(context: CanvasRenderingContext2D, points: readonly number[], size: number): void {
  const x = points.at(-3) as number;
  const y = points.at(-2) as number;
  const down = y >= (points.at(-5) as number) ? 1 : -1;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - size, y - size * 1.6 * down);
  context.lineTo(x + size, y - size * 1.6 * down);
  context.closePath();
  context.fill();
}

function widthOf(edge: SceneEdge): number {
  return Math.min(2.2, 1 + Math.log2(Math.max(1, edge.tensors)) * 0.25);
}

function isAbout(edge: SceneEdge, name: string | null): boolean {
  return name !== null && (edge.from === name || edge.to === name);
}

// From afar: all in one stroke, without curves and arrows.
function drawFarEdges(
  context: CanvasRenderingContext2D,
  edges: readonly SceneEdge[],
  width: number,
  palette: Palette,
): void {
  context.strokeStyle = palette.edge;
  context.lineWidth = width * 0.6;
  context.beginPath();
  for (const { points } of edges) {
    context.moveTo(points[0] as number, points[1] as number);
    for (let i = 3; i < points.length; i += 3) {
      context.lineTo(points[i] as number, points[i + 1] as number);
    }
  }
  context.stroke();
}

export function drawEdges(
  context: CanvasRenderingContext2D,
  edges: readonly SceneEdge[],
  seen: Rect,
  camera: Camera,
  marks: Marks,
  palette: Palette,
): void {
  const thin = 1 / camera.scale;
  const visible = edges.filter((edge) => intersects(edge.bounds, seen));
  if (camera.scale < BLOCK_SCALE) {
    drawFarEdges(context, visible, thin, palette);
    return;
  }
  const strong = (edge: SceneEdge) => isAbout(edge, marks.selected) || isAbout(edge, marks.hovered);
  const ordered = [...visible.filter((edge) => !strong(edge)), ...visible.filter(strong)];
  for (const edge of ordered) {
    const about = strong(edge);
    const colour = about ? palette.edgeStrong : palette.edge;
    context.strokeStyle = colour;
    context.fillStyle = colour;
    context.lineWidth = Math.max(thin * 0.75, widthOf(edge) * (about ? 1.4 : 1));
    context.setLineDash(edge.kind === 'control' ? [4, 4] : []);
    context.beginPath();
    tracePath(context, edge.points);
    context.stroke();
    context.setLineDash([]);
    if (camera.scale > 0.3) drawArrow(context, edge.points, about ? 4 : 3.2);
  }
}

// Links of the selected node that no drawn edge shows, because they cross scopes.
export function drawLinks(
  context: CanvasRenderingContext2D,
  scene: Scene,
  marks: Marks,
  palette: Palette,
  camera: Camera,
  boxFor: (name: string) => Box | null,
): void {
  const self = marks.selected === null ? null : scene.byName.get(marks.selected);
  if (self === null || self === undefined) return;
  context.strokeStyle = palette.select;
  context.lineWidth = Math.max(1.4, 1.2 / camera.scale);
  context.globalAlpha = 0.65;
  context.setLineDash([6, 4]);
  const link = (from: Box, to: Box) => {
    if (from === to || from.parent === to.parent) return;
    if (self.name.startsWith(`${from.name}/`) || self.name.startsWith(`${to.name}/`)) return;
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
    const box = boxFor(name);
    if (box !== null) link(box, self);
  }
  for (const name of marks.consumers) {
    const box = boxFor(name);
    if (box !== null) link(self, box);
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
}
