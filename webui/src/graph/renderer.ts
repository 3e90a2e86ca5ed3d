// What draws a scene. Canvas 2D today; another back end may stand behind the
// same interface.

import type { Camera, Size } from './camera';
import type { Marks } from './marks';
import type { Palette } from './palette';
import type { Scene } from './scene';

export interface Renderer {
  draw(scene: Scene, camera: Camera, view: Size, marks: Marks, palette: Palette): void;
}
