// The transition between two drawings: boxes move to their new positions, and the contents of a
// scope grow out of it.

import type { Rect } from './camera';
import type { Box, Scene } from './scene';

export const MOTION_MS = 170;
// Larger drawings change without a transition.
const MAX_BOXES = 2500;

export interface Motion {
  // Old positions by name, in coordinates in which the clicked box does not move.
  from: ReadonlyMap<string, Rect>;
  // Progress, from 0 to 1.
  share: number;
}

export function oldPlaces(before: Scene, after: Scene, still: { dx: number; dy: number }): Map<string, Rect> | null {
  if (before.boxes.length === 0 || Math.max(before.boxes.length, after.boxes.length) > MAX_BOXES) return null;
  const from = new Map<string, Rect>();
  for (const { name, x, y, width, height } of before.boxes) {
    from.set(name, { x: x + still.dx, y: y + still.dy, width, height });
  }
  // Outer scopes come first, so that the old position of a box's parent is known.
  for (const box of after.boxes) {
    const around = after.byName.get(box.parent);
    const old = from.get(box.parent);
    if (from.has(box.name) || around === undefined || old === undefined) continue;
    const across = old.width / around.width;
    const down = old.height / around.height;
    from.set(box.name, {
      x: old.x + (box.x - around.x) * across,
      y: old.y + (box.y - around.y) * down,
      width: box.width * across,
      height: box.height * down,
    });
  }
  return from;
}

export function inMotion(box: Box, motion: Motion): Box {
  const from = motion.from.get(box.name);
  if (from === undefined) return box;
  const mix = (a: number, b: number) => a + (b - a) * motion.share;
  return {
    ...box,
    x: mix(from.x, box.x),
    y: mix(from.y, box.y),
    width: mix(from.width, box.width),
    height: mix(from.height, box.height),
  };
}
