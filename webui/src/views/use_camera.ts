// The camera and its animation. It is kept outside React state, so that moving it redraws
// the canvas and nothing else.

import { useEffect, useLayoutEffect, useState } from 'react';
import { mix, type Camera, type Size } from '../graph/camera';

const GLIDE_MS = 180;

export function reducedMotion(): boolean {
  return window.matchMedia('(prefers-reduced-motion: reduce)').matches;
}

export class CameraControl {
  private camera: Camera = { x: 0, y: 0, scale: 1 };
  private frame = 0;
  private readonly listeners = new Set<(camera: Camera) => void>();

  readonly now = (): Camera => this.camera;

  // Calls the listener with every change until the returned function is called.
  readonly follow = (listener: (camera: Camera) => void): (() => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  readonly jump = (next: Camera): void => {
    cancelAnimationFrame(this.frame);
    this.set(next);
  };

  readonly glide = (to: Camera): void => {
    cancelAnimationFrame(this.frame);
    if (reducedMotion()) {
      this.set(to);
      return;
    }
    const from = this.camera;
    const start = performance.now();
    const tick = (time: number) => {
      const share = Math.min(1, Math.max(0, (time - start) / GLIDE_MS));
      this.set(mix(from, to, 1 - (1 - share) ** 3));
      if (share < 1) this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  };

  readonly stop = (): void => cancelAnimationFrame(this.frame);

  private set(camera: Camera): void {
    this.camera = camera;
    for (const listener of this.listeners) listener(camera);
  }
}

export function useCamera(): CameraControl {
  const [control] = useState(() => new CameraControl());
  useEffect(() => control.stop, [control]);
  return control;
}

// The size of an element, updated when it changes. Known before the first paint, so that what depends on it
// is part of it.
export function useSize(element: React.RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const target = element.current;
    if (target === null) return undefined;
    const read = () => setSize({ width: target.clientWidth, height: target.clientHeight });
    read();
    const observer = new ResizeObserver(read);
    observer.observe(target);
    return () => observer.disconnect();
  }, [element]);
  return size;
}
