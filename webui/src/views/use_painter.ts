// Draws the canvas: immediately when the scene changes, and once per frame while the camera
// moves or scopes open and close.

import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';
import { endMeasure, firstGraph } from '../base/timing';
import type { Rect, Size } from '../graph/camera';
import { CanvasRenderer } from '../graph/canvas_renderer';
import type { Marks } from '../graph/marks';
import { MOTION_MS } from '../graph/motion';
import { OVERVIEW_BOXES } from '../graph/overview';
import { farColours, type Palette } from '../graph/palette';
import type { Overview, Picture } from '../graph/renderer';
import type { Scene } from '../graph/scene';
import { graphWorker } from '../worker/client';
import type { CameraControl } from './use_camera';

const OVERVIEW_SIDE = 4096;

export class Painter {
  private picture: Omit<Picture, 'camera' | 'motion'> | null = null;
  private places: ReadonlyMap<string, Rect> | null = null;
  private began = 0;
  private frame = 0;

  constructor(
    private readonly renderer: CanvasRenderer,
    private readonly control: CameraControl,
  ) {}

  show(picture: Omit<Picture, 'camera' | 'motion'>): void {
    this.picture = picture;
    this.paint(performance.now());
  }

  // Starts an animation from these places to those in the scene shown next.
  move(places: ReadonlyMap<string, Rect> | null): void {
    this.places = places;
    this.began = performance.now();
  }

  readonly request = (): void => {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame((time) => {
      this.frame = 0;
      this.paint(time);
    });
  };

  stop(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  private paint(time: number): void {
    if (this.picture === null) return;
    const past = Math.min(1, Math.max(0, (time - this.began) / MOTION_MS));
    if (past >= 1) this.places = null;
    const motion = this.places === null ? null : { from: this.places, share: 1 - (1 - past) ** 3 };
    this.renderer.draw({ ...this.picture, camera: this.control.now(), motion });
    if (motion !== null) this.request();
  }
}

// A bitmap of a large scene, once the worker has drawn it.
function useOverview(scene: Scene, palette: Palette | null): Overview | null {
  const [overview, setOverview] = useState<Overview | null>(null);
  useEffect(() => {
    setOverview((old) => {
      if (old !== null && old.id !== scene.id) old.bitmap.close();
      return old?.id === scene.id ? old : null;
    });
    if (palette === null || scene.boxes.length < OVERVIEW_BOXES) return undefined;
    graphWorker.post({ type: 'overview', id: scene.id, side: OVERVIEW_SIDE, colours: farColours(palette) });
    return graphWorker.subscribe((message) => {
      if (message.type === 'overview' && message.id === scene.id) setOverview(message);
    });
    // The bitmap depends only on the boxes of the scene.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [scene.id, palette]);
  return overview;
}

export function usePainter(canvas: RefObject<HTMLCanvasElement | null>, control: CameraControl): RefObject<Painter | null> {
  const painter = useRef<Painter | null>(null);
  useLayoutEffect(() => {
    if (canvas.current === null) return undefined;
    const own = new Painter(new CanvasRenderer(canvas.current), control);
    painter.current = own;
    const unfollow = control.follow(own.request);
    return () => {
      unfollow();
      own.stop();
    };
  }, [canvas, control]);
  return painter;
}

interface Drawing {
  scene: Scene;
  size: Size;
  marks: Marks;
  palette: Palette | null;
}

// Draws in the same frame as the rest of the change. Must be called after the hooks that
// move the camera.
export function useDrawing(painter: RefObject<Painter | null>, { scene, size, marks, palette }: Drawing): void {
  const overview = useOverview(scene, palette);
  useLayoutEffect(() => {
    if (painter.current === null || palette === null || size.width === 0) return;
    painter.current.show({ scene, view: size, marks, palette, overview });
    if (scene.boxes.length > 0) firstGraph.mark();
  }, [painter, scene, size, marks, palette, overview]);
  useLayoutEffect(() => endMeasure('graphdbg:expand'), [scene]);
}
