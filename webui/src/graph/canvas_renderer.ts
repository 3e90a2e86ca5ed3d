// Draws the visible part of a scene with Canvas 2D, with less detail at smaller scales.

import { intersects, visibleRect, type Camera, type Rect } from './camera';
import { BLOCK_SCALE, drawBlock, drawFarLabel, drawFarMark, drawLeaf, drawMarks, drawScope, FAR_LABEL_SCALE } from './draw_boxes';
import { drawEdges, drawLinks } from './draw_edges';
import { colouredOverview } from './draw_health';
import { drawNotes } from './draw_notes';
import { inMotion } from './motion';
import type { Marks } from './marks';
import type { Picture, Renderer } from './renderer';
import { boxOf, type Box, type SceneScope } from './scene';
import { hasLabel, placeScopeLabels } from './scope_labels';

// Marks and shadows extend beyond their boxes.
const BLEED = 30;
// Sizes on the screen: smaller boxes are left out, and smaller scopes are drawn without their contents.
const MIN_BOX_PX = 1.2;
const MIN_OPEN_PX = 7;

export class CanvasRenderer implements Renderer {
  constructor(private readonly canvas: HTMLCanvasElement) {}

  draw(picture: Picture): void {
    const context = this.canvas.getContext('2d', { alpha: false });
    if (context === null) return;
    const { view, camera, palette } = picture;
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
    new Pass(context, picture).run();
  }
}

// Draws one frame.
class Pass {
  private readonly seen: Rect;
  private readonly near: Rect;
  private readonly drawn: Box[] = [];
  private readonly leaves: Box[] = [];

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly picture: Picture,
  ) {
    const { camera, view } = picture;
    this.seen = visibleRect(camera, view);
    const { x, y, width, height } = this.seen;
    this.near = { x: x - BLEED, y: y - BLEED, width: width + 2 * BLEED, height: height + 2 * BLEED };
  }

  run(): void {
    const { scene, camera, overview } = this.picture;
    const top = scene.scopes.get('');
    if (top === undefined) return;
    const far = overview !== null && overview.id === scene.id && camera.scale <= overview.scale * 1.05;
    if (far) {
      const { marks, palette } = this.picture;
      const picture = marks.health ? colouredOverview(scene, overview, marks.health, palette) : overview.bitmap;
      this.context.drawImage(picture, 0, 0, scene.width, scene.height);
      this.labelFar();
    } else {
      this.inside(top);
      // Above the scopes, but below the boxes and their text.
      if (this.picture.motion === null) drawLinks(this.context, this.picture);
      for (const box of this.leaves) this.leaf(box);
      if (camera.scale < FAR_LABEL_SCALE) this.labelFar();
    }
    this.marks(far);
  }

  private inside(scope: SceneScope): void {
    const { context, picture } = this;
    const { camera, palette, motion, marks } = picture;
    drawEdges(context, scope, this.seen, picture);
    for (const placed of scope.boxes) {
      const box = motion === null ? placed : inMotion(placed, motion);
      if (box.width * camera.scale < MIN_BOX_PX || !intersects(box, this.near)) continue;
      this.drawn.push(box);
      if (!box.open) {
        this.leaves.push(box);
      } else if (box.height * camera.scale < MIN_OPEN_PX) {
        drawBlock(context, box, palette, marks.health?.at(box.name) ?? null);
      } else {
        drawScope(context, box, palette, camera);
        const inner = picture.scene.scopes.get(box.name);
        if (inner !== undefined) this.inside(inner);
      }
    }
  }

  private leaf(box: Box): void {
    const { camera, palette, marks } = this.picture;
    drawLeaf(this.context, box, palette, camera, marks.health?.at(box.name) ?? null);
    drawNotes(this.context, box, palette, camera);
  }

  // Draws the names of large scopes.
  private labelFar(): void {
    const { scene, camera, palette } = this.picture;
    const large: Box[] = [];
    const look = (scope: SceneScope | undefined) => {
      for (const box of scope?.boxes ?? []) {
        if (!hasLabel(box, camera) || !intersects(box, this.near)) continue;
        large.push(box);
        look(scene.scopes.get(box.name));
      }
    };
    look(scene.scopes.get(''));
    for (const label of placeScopeLabels(large, camera)) drawFarLabel(this.context, label, palette, camera);
  }

  private marks(far: boolean): void {
    const { context, picture } = this;
    const { scene, camera, palette, marks } = picture;
    const current = marks.current === null ? null : boxOf(scene, marks.current, marks.pathTo);
    const named = [marks.selected, current?.name].map((name) => (name ? scene.byName.get(name) : undefined));
    const boxes = far ? named.filter((box) => box !== undefined) : this.drawn;
    if (far || camera.scale < BLOCK_SCALE) this.farHits();
    for (const box of new Set(boxes)) {
      if (!isMarked(box, marks, current)) continue;
      const implied = scene.byName.get(box.parent)?.node.watched === 'all';
      drawMarks(context, box, marks, current?.name ?? null, implied, palette, camera);
    }
  }

  // Marks hits in boxes that are too small to be seen.
  private farHits(): void {
    const { scene, camera, palette, marks } = this.picture;
    for (const name of marks.hits.keys()) {
      const box = scene.byName.get(name);
      if (box === undefined || box.open || !intersects(box, this.near)) continue;
      drawFarMark(this.context, box, marks.trail.get(name) === 'origin', palette, camera as Camera);
    }
  }
}

function isMarked({ name, node }: Box, marks: Marks, current: Box | null): boolean {
  if (node.watched !== 'none' || node.hit_count > 0 || marks.hits.has(name)) return true;
  if (marks.differences?.has(name)) return true;
  return name === current?.name || name === marks.selected || name === marks.hovered;
}
