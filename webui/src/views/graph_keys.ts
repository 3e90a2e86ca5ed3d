// Keys of the graph view. True: the key was used.

import { panBy, reveal, zoomAt, fit, type Camera, type Size } from '../graph/camera';
import { canOpen, leafBoxes, type Box, type Scene } from '../graph/scene';

export interface GraphKeyTarget {
  scene: Scene;
  size: Size;
  selected: string | null;
  now: () => Camera;
  move: (camera: Camera) => void;
  glide: (camera: Camera) => void;
  fitAll: () => void;
  select: (box: Box | null) => void;
  toggle: (box: Box) => void;
  goToCurrent: () => void;
}

const PAN_PX = 60;

const PANS: Record<string, [number, number]> = {
  ArrowLeft: [PAN_PX, 0],
  ArrowRight: [-PAN_PX, 0],
  ArrowUp: [0, PAN_PX],
  ArrowDown: [0, -PAN_PX],
};

// Boxes stand in the scene in execution order, scope by scope.
function neighbour(target: GraphKeyTarget, by: number): Box | null {
  const boxes = leafBoxes(target.scene);
  if (boxes.length === 0) return null;
  const at = boxes.findIndex((box) => box.name === target.selected);
  if (at < 0) return boxes[by > 0 ? 0 : boxes.length - 1] ?? null;
  return boxes[Math.min(boxes.length - 1, Math.max(0, at + by))] ?? null;
}

function zoom(target: GraphKeyTarget, factor: number): void {
  const { width, height } = target.size;
  target.move(zoomAt(target.now(), width / 2, height / 2, factor));
}

export function graphKey(event: React.KeyboardEvent, target: GraphKeyTarget): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const box = target.selected === null ? undefined : target.scene.byName.get(target.selected);
  const pan = PANS[event.key];
  if (pan !== undefined) {
    target.move(panBy(target.now(), pan[0], pan[1]));
    return true;
  }
  switch (event.key) {
    case '+':
    case '=':
      zoom(target, 1.25);
      return true;
    case '-':
      zoom(target, 1 / 1.25);
      return true;
    case '0': {
      const scale = target.now().scale;
      zoom(target, 1 / scale);
      return true;
    }
    case ' ':
      target.fitAll();
      return true;
    case 'f':
      if (box === undefined) return false;
      focus(target, box);
      return true;
    case 'g':
      target.goToCurrent();
      return true;
    case '.':
    case ',': {
      const next = neighbour(target, event.key === '.' ? 1 : -1);
      if (next !== null) target.select(next);
      return true;
    }
    case 'Enter':
      if (box === undefined || !canOpen(box.node)) return false;
      target.toggle(box);
      return true;
    case 'Escape':
      target.select(null);
      return true;
    default:
      return false;
  }
}

// Once: into view. Again, when nothing is left to move: fills the view.
function focus(target: GraphKeyTarget, box: Box): void {
  const camera = target.now();
  const next = reveal(camera, box, target.size);
  target.glide(next === camera ? fit(box, target.size, 1.6) : next);
}
