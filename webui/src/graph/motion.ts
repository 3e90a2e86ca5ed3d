// How one drawing turns into the next: boxes that were there move to their new
// places, what comes out of a scope grows out of it.

import type { Rect } from './camera';
import type { Box, Scene } from './scene';

export const MOTION_MS = 170;
// Larger drawings change at once.
const MOST_BOXES = 2500;

export interface Motion {
  // Old places, by name, in coordinates in which what was touched stands still.
  from: ReadonlyMap<string, Rect>;
  // From 0 to 1.
  share: number;
}

export function oldPlaces(before: Scene, after: Scene, still: { dx: number; dy: number }): Map<string, Rect> | null {
  if (before.boxes.length === 0 || Math.max(before.boxes.length, after.boxes.length) > MOST_BOXES) return null;
  const from = new Map<string, Rect>();
  for (const { name, x, y, width, height } of before.boxes) {
    from.set(name, { x: x + still.dx, y: y + still.dy, width, height });
  }
  // Outer scopes come first, so that the place of what is around is known.
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
