// The camera: where it is, how it glides, and what must stay in place.

import { useCallback, useEffect, useRef, useState } from 'react';
import { mix, type Camera, type Size } from '../graph/camera';

const GLIDE_MS = 180;

function reducedMotion(): boolean {
  return window.matchMedia('(prefers-reduced-motion: reduce)').matches;
}

export interface CameraControl {
  camera: Camera;
  // Reads the newest camera, even between renders.
  now: () => Camera;
  jump: (camera: Camera) => void;
  glide: (camera: Camera) => void;
}

export function useCamera(): CameraControl {
  const [camera, setCamera] = useState<Camera>({ x: 0, y: 0, scale: 1 });
  const newest = useRef(camera);
  const frame = useRef(0);

  const jump = useCallback((next: Camera) => {
    cancelAnimationFrame(frame.current);
    newest.current = next;
    setCamera(next);
  }, []);

  const glide = useCallback(
    (to: Camera) => {
      cancelAnimationFrame(frame.current);
      if (reducedMotion()) {
        jump(to);
        return;
      }
      const from = newest.current;
      const start = performance.now();
      const tick = (time: number) => {
        const share = Math.min(1, Math.max(0, (time - start) / GLIDE_MS));
        const eased = 1 - (1 - share) ** 3;
        newest.current = mix(from, to, eased);
        setCamera(newest.current);
        if (share < 1) frame.current = requestAnimationFrame(tick);
      };
      frame.current = requestAnimationFrame(tick);
    },
    [jump],
  );

  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return { camera, now: useCallback(() => newest.current, []), jump, glide };
}

// The size of an element, as it changes.
export function useSize(element: React.RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useEffect(() => {
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
