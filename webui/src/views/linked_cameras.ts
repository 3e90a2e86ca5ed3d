// The cameras of two drawings side by side. A move of one moves the other, so that the nodes that
// correspond stay at the same place of their views.

import { centreOn, fit, zoomAt, type Camera, type Rect, type Size } from '../graph/camera';
import type { Scene } from '../graph/scene';
import { CameraControl } from './use_camera';

// Both drawings are shown whole, unless that would make them illegible.
const SMALLEST = 0.55;
const LARGEST = 1.1;

export type Side = 0 | 1;

interface Drawn {
  // The node that corresponds to one of the other side.
  box: Rect;
  scene: Scene;
  size: Size;
}

export class LinkedCameras {
  readonly controls: readonly [CameraControl, CameraControl] = [new CameraControl(), new CameraControl()];
  private readonly drawn: [Drawn | null, Drawn | null] = [null, null];

  // A side shows another scene, or the size of its view has changed. Without `box`, it has no node
  // that corresponds.
  show(side: Side, box: Rect | null, scene: Scene, size: Size): void {
    const before = this.drawn[side];
    this.drawn[side] = box === null || size.width === 0 ? null : { box, scene, size };
    if (before?.scene !== scene || before.size !== size) this.fit();
  }

  move(side: Side, camera: Camera): void {
    this.controls[side].jump(camera);
    const other = side === 0 ? 1 : 0;
    const [own, moved] = [this.drawn[side], this.drawn[other]];
    if (own === null || moved === null) return;
    const [x, y] = [camera.x - own.box.x + moved.box.x, camera.y - own.box.y + moved.box.y];
    this.controls[other].jump({ scale: camera.scale, x, y });
  }

  zoom(factor: number): void {
    const side = this.drawn[0] === null ? 1 : 0;
    const size = this.drawn[side]?.size;
    if (size !== undefined) this.move(side, zoomAt(this.controls[side].now(), size.width / 2, size.height / 2, factor));
  }

  // The nodes that correspond are in the middle, at the same scale.
  fit(): void {
    const shown = this.drawn.filter((each) => each !== null);
    const scales = shown.map(({ scene, size }) => fit({ x: 0, y: 0, width: scene.width, height: scene.height }, size, LARGEST).scale);
    const scale = Math.max(SMALLEST, Math.min(...scales));
    for (const side of [0, 1] as const) {
      const each = this.drawn[side];
      if (each !== null) this.controls[side].jump(centreOn(each.box, each.size, scale));
    }
  }
}
