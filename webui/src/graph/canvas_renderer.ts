// Canvas 2D: draws what is in view, with less detail the smaller it is.

import { intersects, visibleRect, type Camera, type Rect, type Size } from './camera';
import { drawLeaf, drawMarks, drawScope } from './draw_boxes';
import { drawEdges, drawLinks } from './draw_edges';
import type { Marks } from './marks';
import type { Palette } from './palette';
import type { Renderer } from './renderer';
import { boxOf, type Scene } from './scene';

// Marks and shadows reach out of their boxes.
const BLEED = 30;
// What would be narrower on the screen is left out.
const LEAST_PX = 1.5;

export class CanvasRenderer implements Renderer {
  constructor(private readonly canvas: HTMLCanvasElement) {}

  draw(scene: Scene, camera: Camera, view: Size, marks: Marks, palette: Palette): void {
    const context = this.canvas.getContext('2d');
    if (context === null) return;
    const density = window.devicePixelRatio || 1;
    const width = Math.round(view.width * density);
    const height = Math.round(view.height * density);
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    const scale = camera.scale * density;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = palette.canvas;
    context.fillRect(0, 0, width, height);
    context.setTransform(scale, 0, 0, scale, -camera.x * scale, -camera.y * scale);
    this.drawScene(context, scene, camera, visibleRect(camera, view), marks, palette);
  }

  private drawScene(
    context: CanvasRenderingContext2D,
    scene: Scene,
    camera: Camera,
    seen: Rect,
    marks: Marks,
    palette: Palette,
  ): void {
    const edges = (scope: string) => {
      const list = scene.edges.get(scope);
      if (list !== undefined) drawEdges(context, list, seen, camera, marks, palette);
    };
    const near = {
      x: seen.x - BLEED,
      y: seen.y - BLEED,
      width: seen.width + 2 * BLEED,
      height: seen.height + 2 * BLEED,
    };
    const least = LEAST_PX / camera.scale;
    const boxes = scene.boxes.filter((box) => box.width >= least && intersects(box, near));
    edges('');
    for (const box of boxes) {
      if (box.open) {
        drawScope(context, box, palette, camera);
        edges(box.name);
      } else {
        drawLeaf(context, box, palette, camera);
      }
    }
    drawLinks(context, scene, marks, palette, camera, (name) => boxOf(scene, name));
    const current = marks.current === null ? null : boxOf(scene, marks.current);
    for (const box of boxes) {
      const implied = scene.byName.get(box.parent)?.node.watched === 'all';
      drawMarks(context, box, marks, current, implied, palette, camera);
    }
  }
}
