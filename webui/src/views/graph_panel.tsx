// Middle: the graph. Scopes open and close in place; pointer and keys move about.

import { Maximize, Minus, Plus, Workflow } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import { endMeasure, markFirstGraph } from '../base/timing';
import { fit, reveal, zoomAt } from '../graph/camera';
import { CanvasRenderer } from '../graph/canvas_renderer';
import type { Marks } from '../graph/marks';
import { boxOf, type Box, type Scene } from '../graph/scene';
import { summarise } from '../graph/summary';
import { useNode } from '../state/queries';
import { selectNode, toggleScope, useScopes } from '../state/scopes';
import { openNodeMenu, touch } from '../state/ui';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { Panel } from '../widgets/panel';
import { graphKey, type GraphKeyTarget } from './graph_keys';
import { GraphLegend } from './graph_legend';
import { useGraphPointer } from './graph_pointer';
import { useJobContext } from './job_context';
import { useCamera, useSize } from './use_camera';
import { usePalette } from './use_palette';
import { useScene } from './use_scene';
import './graph_panel.css';

const NONE: ReadonlySet<string> = new Set();

function useMarks(hovered: string | null): Marks {
  const { id, route, hitIndex, current } = useJobContext();
  const selected = route?.node ?? null;
  const detail = useNode(id, selected).data;
  return useMemo(
    () => ({
      selected,
      hovered,
      current,
      hits: hitIndex,
      producers: detail === undefined ? NONE : new Set(detail.inputs.map((input) => input.node)),
      consumers: detail === undefined ? NONE : new Set(detail.consumers.map((user) => user.node)),
    }),
    [selected, hovered, current, hitIndex, detail],
  );
}

export function GraphPanel() {
  const { open, route, current } = useJobContext();
  const views = useScopes((state) => state.views);
  const scene = useScene(open, views);
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(frame);
  const palette = usePalette(frame);
  const control = useCamera();
  const { camera, now, jump, glide } = control;
  const selected = route?.node ?? null;

  // Until the user moves the camera, it shows everything.
  const moved = useRef(false);
  // A toggled box stays where it is on the screen.
  const anchor = useRef<{ name: string; x: number; y: number } | null>(null);
  const wanted = useRef<string | null>(null);

  const toggle = useCallback(
    (box: Box) => {
      anchor.current = { name: box.name, x: box.x, y: box.y };
      moved.current = true;
      touch();
      toggleScope(box.name);
    },
    [],
  );
  const select = useCallback((box: Box | null) => {
    touch();
    selectNode(box?.name ?? null);
  }, []);
  const menu = useCallback(
    (box: Box, x: number, y: number) => openNodeMenu({ node: box.name, kind: box.node.kind, x, y }),
    [],
  );
  const move = useCallback(
    (next: ReturnType<typeof now>) => {
      moved.current = true;
      touch();
      jump(next);
    },
    [jump],
  );
  const pointer = useGraphPointer({ frame, scene, now, move, select, toggle, menu });
  const marks = useMarks(pointer.hovered);

  const fitAll = useCallback(() => {
    moved.current = false;
    glide(fit({ x: 0, y: 0, width: scene.width, height: scene.height }, size));
  }, [glide, scene, size]);

  useCameraForScene({ scene, size, now, jump, glide, moved, anchor, wanted, current });
  useEffect(() => {
    wanted.current = selected;
    const box = selected === null ? undefined : scene.byName.get(selected);
    if (box === undefined || size.width === 0) return;
    wanted.current = null;
    const next = reveal(now(), box, size);
    if (next !== now()) {
      moved.current = true;
      glide(next);
    }
    // Only a new selection moves the camera, not each new drawing.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [selected]);

  useEffect(() => {
    if (canvas.current === null || palette === null || size.width === 0) return;
    new CanvasRenderer(canvas.current).draw(scene, camera, size, marks, palette);
    if (scene.boxes.length > 0) markFirstGraph();
    endMeasure('graphdbg:expand');
  }, [scene, camera, size, marks, palette]);

  const target: GraphKeyTarget = { scene, size, selected, now, move, glide, fitAll, select, toggle };
  const empty = views.has('') && scene.boxes.length === 0;
  return (
    <Panel
      title="Graph"
      className="graph-panel"
      actions={
        <>
          <Button label="Zoom out" icon={Minus} iconOnly small tone="quiet" shortcut="−"
            onClick={() => move(zoomAt(now(), size.width / 2, size.height / 2, 1 / 1.3))} />
          <span className="graph-scale mono">{Math.round(camera.scale * 100)}%</span>
          <Button label="Zoom in" icon={Plus} iconOnly small tone="quiet" shortcut="+"
            onClick={() => move(zoomAt(now(), size.width / 2, size.height / 2, 1.3))} />
          <Button label="Show all" icon={Maximize} iconOnly small tone="quiet" shortcut="Space"
            onClick={fitAll} />
        </>
      }
    >
      <div
        ref={frame}
        className="graph-frame"
        role="group"
        aria-label="Graph view"
        aria-description="The node tree shows the same scopes. Arrow keys move the view, Enter opens or closes the selected scope."
        tabIndex={0}
        title={pointer.hovered ?? undefined}
        onKeyDown={(event) => {
          if (graphKey(event, target)) {
            event.preventDefault();
            event.stopPropagation();
          }
        }}
        {...pointer.handlers}
        style={{ cursor: pointer.cursor }}
      >
        <canvas ref={canvas} role="img" aria-label={summarise(scene, marks)} />
      </div>
      {empty && (
        <div className="graph-empty">
          <Notice icon={Workflow} title="No graph yet">
            <p>It is drawn while the first step runs. Press Step or Continue.</p>
          </Notice>
        </div>
      )}
      {scene.boxes.length > 0 && <GraphLegend />}
    </Panel>
  );
}

interface SceneCamera {
  scene: Scene;
  size: { width: number; height: number };
  now: ReturnType<typeof useCamera>['now'];
  jump: ReturnType<typeof useCamera>['jump'];
  glide: ReturnType<typeof useCamera>['glide'];
  moved: React.RefObject<boolean>;
  anchor: React.RefObject<{ name: string; x: number; y: number } | null>;
  wanted: React.RefObject<string | null>;
  current: string | null;
}

// What the camera does when the drawing changes under it.
function useCameraForScene(view: SceneCamera): void {
  const { scene, size, now, jump, glide, moved, anchor, wanted, current } = view;
  useEffect(() => {
    if (size.width === 0 || scene.boxes.length === 0) return;
    const before = anchor.current;
    const box = before === null ? undefined : scene.byName.get(before.name);
    if (before !== null && box !== undefined) {
      const camera = now();
      jump({ ...camera, x: camera.x + box.x - before.x, y: camera.y + box.y - before.y });
      anchor.current = null;
    } else if (!moved.current) {
      jump(firstCamera(scene, size, current));
    }
    const target = wanted.current === null ? undefined : scene.byName.get(wanted.current);
    if (target !== undefined) {
      wanted.current = null;
      glide(reveal(now(), target, size));
      moved.current = true;
    }
    // The current node alone must not move the camera.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [scene, size, now, jump, glide, moved, anchor, wanted]);
}

// Names must be legible at first sight: a drawing too large for that is shown from
// where the job stands, else from its beginning.
const LEGIBLE = 0.5;

function firstCamera(scene: Scene, size: { width: number; height: number }, current: string | null) {
  const all = { x: 0, y: 0, width: scene.width, height: scene.height };
  const whole = fit(all, size);
  if (whole.scale >= LEGIBLE) return whole;
  const box = current === null ? null : boxOf(scene, current);
  if (box !== null) return reveal({ ...whole, scale: LEGIBLE }, box, size);
  return whole;
}
