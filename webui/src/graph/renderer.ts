// What draws a scene. Canvas 2D today; another back end may stand behind the
// same interface.

import type { Camera, Size } from './camera';
import type { Marks } from './marks';
import type { Motion } from './motion';
import type { Palette } from './palette';
import type { Scene } from './scene';

// A picture of a whole scene, for when much of it is in view.
export interface Overview {
  // Of which scene.
  id: number;
  bitmap: ImageBitmap;
  // Its pixels for one of the scene's.
  scale: number;
}

export interface Picture {
  scene: Scene;
  camera: Camera;
  view: Size;
  marks: Marks;
  palette: Palette;
  // While scopes open and close.
  motion: Motion | null;
  overview: Overview | null;
}

export interface Renderer {
  draw(picture: Picture): void;
}
