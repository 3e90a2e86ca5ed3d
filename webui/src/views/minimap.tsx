// The whole graph in a corner, with the visible part outlined; a click or a drag moves the
// camera. Pointer only: shortcuts and the tree give keyboard users the same navigation.

import { useEffect, useLayoutEffect, useRef } from 'react';
import { centreOn, visibleRect, type Camera, type Size } from '../graph/camera';
import type { Marks } from '../graph/marks';
import type { Palette } from '../graph/palette';
import { boxOf, canOpen, type Scene } from '../graph/scene';
import type { CameraControl } from './use_camera';

const MAX_WIDTH_PX = 172;
const MAX_HEIGHT_PX = 116;
const MIN_BOX_PX = 1.5;

interface Props {
  scene: Scene;
  size: Size;
  control: CameraControl;
  palette: Palette;
  marks: Marks;
  onMove: (camera: Camera) => void;
}

function drawBoxes(context: CanvasRenderingContext2D, scene: Scene, palette: Palette, scale: number): void {
  const draw = (scope: string) => {
    for (const box of scene.scopes.get(scope)?.boxes ?? []) {
      if (box.width * scale < MIN_BOX_PX) continue;
      context.fillStyle = box.open
        ? (palette.scopeInner[(box.depth + 1) % palette.scopeInner.length] ?? palette.scope)
        : canOpen(box.node)
          ? palette.boxBorder
          : palette.category[box.node.category];
      context.globalAlpha = box.open ? 1 : 0.8;
      context.fillRect(box.x, box.y, box.width, box.height);
      if (box.open && box.height * scale > 4) draw(box.name);
    }
  };
  draw('');
  context.globalAlpha = 1;
}

function drawPoints(context: CanvasRenderingContext2D, scene: Scene, marks: Marks, palette: Palette, scale: number): void {
  const dot = (name: string, colour: string, radius: number) => {
    const box = boxOf(scene, name, marks.pathTo);
    if (box === null) return;
    context.fillStyle = colour;
    context.beginPath();
    context.arc(box.x + box.width / 2, box.y + box.height / 2, radius / scale, 0, Math.PI * 2);
    context.fill();
  };
  let shown = 0;
  for (const name of marks.hits.keys()) {
    if (scene.byName.get(name)?.open !== false || shown > 500) continue;
    dot(name, palette.hit, 2);
    shown += 1;
  }
  if (marks.selected !== null) dot(marks.selected, palette.select, 2.5);
  if (marks.current !== null) dot(marks.current, palette.current, 3);
}

export function Minimap({ scene, size, control, palette, marks, onMove }: Props) {
  const base = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const view = useRef<HTMLDivElement>(null);
  const dragging = useRef(false);
  const scale = Math.min(MAX_WIDTH_PX / Math.max(1, scene.width), MAX_HEIGHT_PX / Math.max(1, scene.height));
  const width = Math.max(8, Math.round(scene.width * scale));
  const height = Math.max(8, Math.round(scene.height * scale));

  useEffect(() => {
    const canvas = base.current;
    const context = canvas?.getContext('2d');
    if (!canvas || !context) return;
    const density = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    context.setTransform(scale * density, 0, 0, scale * density, 0, 0);
    drawBoxes(context, scene, palette, scale);
    drawPoints(context, scene, marks, palette, scale);
  }, [scene, palette, marks, scale, width, height]);

  useLayoutEffect(() => {
    const show = (camera: Camera) => {
      if (frame.current === null || view.current === null) return;
      const seen = visibleRect(camera, size);
      const left = Math.max(0, seen.x * scale);
      const top = Math.max(0, seen.y * scale);
      const right = Math.min(width, (seen.x + seen.width) * scale);
      const bottom = Math.min(height, (seen.y + seen.height) * scale);
      const all = left <= 0.5 && top <= 0.5 && right >= width - 0.5 && bottom >= height - 0.5;
      frame.current.classList.toggle('minimap-idle', all);
      Object.assign(view.current.style, {
        transform: `translate(${left}px, ${top}px)`,
        width: `${Math.max(3, right - left)}px`,
        height: `${Math.max(3, bottom - top)}px`,
      });
    };
    show(control.now());
    return control.follow(show);
  }, [control, size, scale, width, height]);

  const go = (event: React.PointerEvent) => {
    const place = event.currentTarget.getBoundingClientRect();
    const x = (event.clientX - place.left) / scale;
    const y = (event.clientY - place.top) / scale;
    onMove(centreOn({ x, y, width: 0, height: 0 }, size, control.now().scale));
  };
  return (
    <div
      ref={frame}
      className="minimap minimap-idle"
      aria-hidden
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        dragging.current = true;
        go(event);
      }}
      onPointerMove={(event) => dragging.current && go(event)}
      onPointerUp={() => (dragging.current = false)}
    >
      <canvas ref={base} style={{ width, height }} />
      <div ref={view} className="minimap-view" />
    </div>
  );
}
