// Keyboard shortcuts of the graph view.

import { panBy, reveal, zoomAt, fit, type Camera, type Size } from '../graph/camera';
import { showAround } from '../state/scopes';
import { canOpen, type Box, type Scene } from '../graph/scene';

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
  // Distance of the neighbourhood shown; null while the whole graph is shown.
  around: number | null;
}

const PAN_PX = 60;

const PANS: Record<string, [number, number]> = {
  ArrowLeft: [PAN_PX, 0],
  ArrowRight: [-PAN_PX, 0],
  ArrowUp: [0, PAN_PX],
  ArrowDown: [0, -PAN_PX],
};

function zoom(target: GraphKeyTarget, factor: number): void {
  const { width, height } = target.size;
  target.move(zoomAt(target.now(), width / 2, height / 2, factor));
}

// Returns true if the key is a shortcut and was handled.
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
    case 'Enter':
      if (box === undefined || !canOpen(box.node)) return false;
      target.toggle(box);
      return true;
    case 'Escape':
      if (target.around !== null) {
        showAround(null);
        return true;
      }
      target.select(null);
      return true;
    default:
      return false;
  }
}

// Moves the box into view; if it already is, zooms until it fills the view.
function focus(target: GraphKeyTarget, box: Box): void {
  const camera = target.now();
  const next = reveal(camera, box, target.size);
  target.glide(next === camera ? fit(box, target.size, 1.6) : next);
}
