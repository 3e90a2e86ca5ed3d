// The interface of scene renderers. Canvas 2D is the only implementation.

import type { Camera, Size } from './camera';
import type { Marks } from './marks';
import type { Motion } from './motion';
import type { Palette } from './palette';
import type { Scene } from './scene';

// A picture of a whole scene, shown while much of it is in view.
export interface Overview {
  // Id of the scene.
  id: number;
  bitmap: ImageBitmap;
  // Pixels of the bitmap per unit of the scene.
  scale: number;
}

export interface Picture {
  scene: Scene;
  camera: Camera;
  view: Size;
  marks: Marks;
  palette: Palette;
  // Null unless scopes are opening or closing.
  motion: Motion | null;
  overview: Overview | null;
}

export interface Renderer {
  draw(picture: Picture): void;
}
