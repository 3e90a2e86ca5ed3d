// Draws the health of ops: the colour of a box, and stripes and a badge where values are not finite.

import { nonFiniteBadge } from '../words/graph';
import type { BoxHealth } from '../base/health';
import { isBad, levelOf, type HealthColours, type HealthLookup } from './health_colours';
import type { Palette } from './palette';
import type { Overview } from './renderer';
import type { Box, Scene } from './scene';

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

const STRIPE = 9;

// Null: nothing is known.
export function fillOf(health: BoxHealth | null, colours: HealthColours, near: boolean): string | null {
  if (health === null) return null;
  if (isBad(health)) return near ? colours.bad : colours.badFar;
  if (health.share === null) return null;
  return (near ? colours.near : colours.far)[levelOf(health.share)] as string;
}

// The outline of the box must be the current path.
export function drawStripes(context: Context, box: Box, palette: Palette): void {
  context.save();
  context.clip();
  context.strokeStyle = palette.hit;
  context.globalAlpha = 0.3;
  context.lineWidth = 2;
  context.beginPath();
  for (let x = box.x - box.height; x < box.x + box.width; x += STRIPE) {
    context.moveTo(x, box.y + box.height);
    context.lineTo(x + box.height, box.y);
  }
  context.stroke();
  context.restore();
}

// Below the box, on the left: the badge of hits is above it, on the right.
export function drawNonFiniteBadge(context: Context, box: Box, health: BoxHealth, palette: Palette, scale: number): void {
  const k = Math.min(3, Math.max(1, 0.75 / scale));
  const text = nonFiniteBadge(health.nan > 0, health.infinite > 0);
  const width = (text.length * 6.2 + 8) * k;
  const height = 14 * k;
  const x = box.x - 4 * k;
  const y = box.y + box.height - 4 * k;
  context.fillStyle = palette.hit;
  context.beginPath();
  context.roundRect(x, y, width, height, 3 * k);
  context.fill();
  context.fillStyle = palette.onHit;
  context.font = `600 ${10 * k}px ${palette.fontMono}`;
  context.textBaseline = 'middle';
  context.fillText(text, x + 4 * k, y + height / 2 + 0.5 * k);
}

// Bad ops stay visible however small their boxes are.
const LEAST_BAD_PX = 3;

interface Coloured {
  scene: Scene;
  overview: Overview;
  health: HealthLookup;
  palette: Palette;
  canvas: OffscreenCanvas;
}

let last: Coloured | null = null;

// The overview with the colours of the ops. It is painted once and then copied in each frame, like
// the overview itself.
export function colouredOverview(scene: Scene, overview: Overview, health: HealthLookup, palette: Palette): OffscreenCanvas {
  const same = last?.scene === scene && last.overview === overview && last.health === health && last.palette === palette;
  if (last !== null && same) return last.canvas;
  const { bitmap } = overview;
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext('2d', { alpha: false });
  if (context !== null) {
    context.drawImage(bitmap, 0, 0);
    paintColours(context, scene, health, palette.health, bitmap.width / scene.width);
  }
  last = { scene, overview, health, palette, canvas };
  return canvas;
}

function paintColours(context: Context, scene: Scene, health: HealthLookup, colours: HealthColours, scale: number): void {
  const bad: Box[] = [];
  context.scale(scale, scale);
  for (const box of scene.boxes) {
    if (box.open) continue;
    const found = health.at(box.name);
    const fill = fillOf(found, colours, false);
    if (found === null || fill === null) continue;
    if (isBad(found)) {
      bad.push(box);
      continue;
    }
    context.fillStyle = fill;
    context.fillRect(box.x, box.y, box.width, box.height);
  }
  context.fillStyle = colours.badFar;
  const least = LEAST_BAD_PX / scale;
  for (const { x, y, width, height } of bad) context.fillRect(x, y, Math.max(width, least), Math.max(height, least));
}
