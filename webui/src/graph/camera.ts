// The part of the drawing that the canvas shows: screen = (world - origin) * scale.

export interface Camera {
  x: number;
  y: number;
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Rect extends Size {
  x: number;
  y: number;
}

export const MIN_SCALE = 0.002;
export const MAX_SCALE = 3;
const MARGIN = 24;
// Height of the zoom buttons at the top and of the legend at the bottom.
const BAR = 46;

export function limitScale(scale: number): number {
  return Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale));
}

// Shows the whole `rect`, at most at scale `largest`.
export function fit(rect: Rect, view: Size, largest = 1.1): Camera {
  const across = (view.width - 2 * MARGIN) / Math.max(1, rect.width);
  const down = (view.height - 2 * BAR) / Math.max(1, rect.height);
  const scale = limitScale(Math.min(across, down, largest));
  return centreOn(rect, view, scale);
}

export function centreOn(rect: Rect, view: Size, scale: number): Camera {
  return {
    x: rect.x + rect.width / 2 - view.width / 2 / scale,
    y: rect.y + rect.height / 2 - view.height / 2 / scale,
    scale,
  };
}

// Zooms around a point of the screen.
export function zoomAt(camera: Camera, px: number, py: number, factor: number): Camera {
  const scale = limitScale(camera.scale * factor);
  return {
    x: camera.x + px / camera.scale - px / scale,
    y: camera.y + py / camera.scale - py / scale,
    scale,
  };
}

export function panBy(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x - dx / camera.scale, y: camera.y - dy / camera.scale };
}

export function toWorld(camera: Camera, px: number, py: number): { x: number; y: number } {
  return { x: camera.x + px / camera.scale, y: camera.y + py / camera.scale };
}

export function visibleRect(camera: Camera, view: Size): Rect {
  return {
    x: camera.x,
    y: camera.y,
    width: view.width / camera.scale,
    height: view.height / camera.scale,
  };
}

export function intersects(a: Rect, b: Rect): boolean {
  return (
    a.x <= b.x + b.width && b.x <= a.x + a.width && a.y <= b.y + b.height && b.y <= a.y + a.height
  );
}

// Pans, without zooming, until `rect` is in view, or its top left corner if it is too large.
export function bringIntoView(camera: Camera, rect: Rect, view: Size): Camera {
  const along = (origin: number, from: number, size: number, shown: number, margin: number) => {
    const room = (shown - 2 * margin) / camera.scale;
    const first = from - margin / camera.scale;
    // If it fits, pan as little as possible; else to its start, unless the start is in view.
    if (size <= room) return Math.min(Math.max(origin, from + size - room - margin / camera.scale), first);
    return origin > first || origin + room < from ? first : origin;
  };
  return {
    ...camera,
    x: along(camera.x, rect.x, rect.width, view.width, MARGIN),
    y: along(camera.y, rect.y, rect.height, view.height, BAR),
  };
}

// Returns the camera unchanged if `rect` is in view and legible; else centres it at a scale at which
// names are legible.
export function reveal(camera: Camera, rect: Rect, view: Size): Camera {
  const seen = visibleRect(camera, view);
  const margin = MARGIN / camera.scale;
  const inside =
    rect.x >= seen.x + margin &&
    rect.y >= seen.y + margin &&
    rect.x + rect.width <= seen.x + seen.width - margin &&
    rect.y + rect.height <= seen.y + seen.height - margin;
  const legible = camera.scale >= 0.55 || rect.width * camera.scale > 160;
  if (inside && legible) return camera;
  const roomy = fit(rect, view).scale;
  return centreOn(rect, view, Math.min(Math.max(camera.scale, 0.8), roomy));
}

export function mix(from: Camera, to: Camera, share: number): Camera {
  const blend = (a: number, b: number) => a + (b - a) * share;
  return {
    x: blend(from.x, to.x),
    y: blend(from.y, to.y),
    scale: blend(from.scale, to.scale),
  };
}
