// A picture of a whole large layout, drawn in the worker. While a hundred thousand boxes are in
// view, a frame copies this picture instead of drawing them.

import type { Category } from '../api/types';
import type { LayoutAnswer } from './layout_types';
import { viewsOf, type Views } from './scene';

export interface FarColours {
  canvas: string;
  scopes: string[];
  border: string;
  closed: string;
  edge: string;
  category: Record<Category, string>;
}

// Drawings with fewer boxes are fast enough without an overview.
export const OVERVIEW_BOXES = 2500;
const MAX_SCALE = 0.25;

export function drawOverview(
  answer: LayoutAnswer,
  views: Views,
  side: number,
  colours: FarColours,
): { bitmap: ImageBitmap; scale: number } | null {
  const scale = Math.min(MAX_SCALE, side / Math.max(1, answer.width, answer.height));
  const width = Math.max(1, Math.ceil(answer.width * scale));
  const height = Math.max(1, Math.ceil(answer.height * scale));
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { alpha: false });
  if (context === null) return null;
  context.fillStyle = colours.canvas;
  context.fillRect(0, 0, width, height);
  context.scale(scale, scale);
  context.lineWidth = 0.6 / scale;
  drawScopes(context, answer, views, colours);
  return { bitmap: canvas.transferToImageBitmap(), scale };
}

function drawScopes(
  context: OffscreenCanvasRenderingContext2D,
  answer: LayoutAnswer,
  views: Views,
  colours: FarColours,
): void {
  const open = new Set(answer.scopes);
  const depths = new Map<string, number>([['', 0]]);
  let at = 0;
  let edge = 0;
  for (const { name, view } of viewsOf(answer, views)) {
    const depth = depths.get(name) ?? 0;
    const edges = view.edges.length;
    drawFarRoutes(context, answer, edge, edge + edges, colours.edge);
    edge += edges;
    for (const node of view.nodes) {
      const isOpen = node.name !== name && node.child_count > 0 && open.has(node.name);
      if (isOpen) depths.set(node.name, depth + 1);
      const [x, y, w, h] = answer.boxes.subarray(at, at + 4) as unknown as [number, number, number, number];
      at += 4;
      context.fillStyle = isOpen
        ? (colours.scopes[depth % colours.scopes.length] as string)
        : node.child_count > 0
          ? colours.closed
          : colours.category[node.category];
      context.fillRect(x, y, w, h);
      if (!isOpen) continue;
      context.strokeStyle = colours.border;
      context.strokeRect(x, y, w, h);
    }
  }
}

function drawFarRoutes(
  context: OffscreenCanvasRenderingContext2D,
  answer: LayoutAnswer,
  first: number,
  end: number,
  colour: string,
): void {
  const { points, pointEnds } = answer;
  context.strokeStyle = colour;
  context.beginPath();
  let at = first === 0 ? 0 : (pointEnds[first - 1] as number);
  for (let edge = first; edge < end; edge += 1) {
    const stop = pointEnds[edge] as number;
    if (at < stop) context.moveTo(points[at] as number, points[at + 1] as number);
    for (at += 3; at < stop; at += 3) context.lineTo(points[at] as number, points[at + 1] as number);
    at = stop;
  }
  context.stroke();
}
