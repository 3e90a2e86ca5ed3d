// The graph in the middle of the window. Scopes open and close in place.

import { LocateFixed, Maximize, Minus, Plus, Waypoints, Workflow } from 'lucide-react';
import { lazy, Suspense, useCallback, useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import { bringIntoView, fit, intersects, reveal, visibleRect, zoomAt, type Camera, type Size } from '../graph/camera';
import type { Marks } from '../graph/marks';
import { oldPlaces } from '../graph/motion';
import { boxOf, EMPTY_SCENE, type Box, type Scene } from '../graph/scene';
import { detailOf } from '../graph/sizes';
import { summarise } from '../graph/summary';
import { isOpenedModel } from '../state/job';
import { useJob } from '../state/job_store';
import { useHealth } from '../state/health';
import { useNode } from '../state/queries';
import { pathOf, revealNode, selectNode, showAround, toggleScope, useScopes } from '../state/scopes';
import { openNodeMenu, touch } from '../state/ui';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { Panel } from '../widgets/panel';
import { selectNodeFirst } from '../words/common';
import * as words from '../words/graph';
import { DistanceButtons } from './distance_buttons';
import { GraphChooser } from './graph_chooser';
import { graphKey, type GraphKeyTarget } from './graph_keys';
import { GraphLegend } from './graph_legend';
import { useGraphPointer } from './graph_pointer';
import { useJobContext } from './job_context';
import { Minimap } from './minimap';
import { reducedMotion, useCamera, useSize, type CameraControl } from './use_camera';
import { useGraphPainted } from './use_graph_painted';
import { useDrawing, usePainter, type Painter } from './use_painter';
import { usePalette } from './use_palette';
import { useNeighbourScene } from './use_neighbour_scene';
import { useScene } from './use_scene';
import { useWalkKeys } from './use_walk_keys';
import './graph_panel.css';

const ExecutionStrip = lazy(async () => ({ default: (await import('./execution_strip')).ExecutionStrip }));
const GraphHealth = lazy(async () => ({ default: (await import('./graph_health')).GraphHealth }));

const NONE: ReadonlySet<string> = new Set();
// The minimap would cover too much of a lower view.
const MINIMAP_FROM_PX = 240;

function useMarks(hovered: string | null): Marks {
  const { id, route, hitIndex, trail, current } = useJobContext();
  const selected = route?.node ?? null;
  const detail = useNode(id, selected).data;
  const health = useHealth((state) => state.shown);
  return useMemo(
    () => ({
      selected,
      hovered,
      current,
      hits: hitIndex,
      trail,
      producers: detail === undefined ? NONE : new Set(detail.inputs.map((input) => input.node)),
      consumers: detail === undefined ? NONE : new Set(detail.consumers.map((user) => user.node)),
      pathTo: pathOf,
      health,
    }),
    [selected, hovered, current, hitIndex, trail, detail, health],
  );
}

// The zoom level. Follows the camera without rendering the panel.
function ScaleText({ control }: { control: CameraControl }) {
  const text = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const show = ({ scale }: Camera) => {
      if (text.current !== null) text.current.textContent = `${Math.round(scale * 100)}%`;
    };
    show(control.now());
    return control.follow(show);
  }, [control]);
  return <span ref={text} className="graph-scale mono" />;
}

export function GraphPanel() {
  const { route, current } = useJobContext();
  const views = useScopes((state) => state.views);
  const wholeScene = useScene();
  const neighbourhood = useNeighbourScene();
  const scene = neighbourhood.scene ?? wholeScene;
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(frame);
  const palette = usePalette(frame);
  const control = useCamera();
  const { now, jump, glide } = control;
  const selected = route?.node ?? null;

  // The camera shows the whole graph until the user moves it.
  const moved = useRef(false);
  // The box that was toggled, which keeps its position on the screen.
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
    (next: Camera) => {
      moved.current = true;
      touch();
      jump(next);
    },
    [jump],
  );
  const pointer = useGraphPointer({ frame, scene, now, move, select, toggle, menu });
  const marks = useMarks(pointer.hovered);
  const painter = usePainter(canvas, control);

  const fitAll = useCallback(() => {
    moved.current = false;
    glide(fit({ x: 0, y: 0, width: scene.width, height: scene.height }, size));
  }, [glide, scene, size]);

  useCameraForScene({ scene, size, control, painter, moved, anchor, wanted, current, selected });
  const drawnMarks = useMemo(() => withShownSelection(marks, scene), [marks, scene]);
  useDrawing(painter, { scene, size, marks: drawnMarks, palette });
  // The first selection opens the node panel, which must not cover the selected node.
  const before = useRef(selected);
  const shrinks = useRef(false);
  useEffect(() => {
    shrinks.current = before.current === null && selected !== null;
    before.current = selected;
  }, [selected]);
  const sizeBefore = useRef(size);
  useEffect(() => {
    const before = sizeBefore.current;
    sizeBefore.current = size;
    const box = selected === null ? undefined : scene.byName.get(selected);
    if (box === undefined) return;
    // A comparison takes room from the graph, too.
    const wasSeen = size.height < before.height && intersects(box, visibleRect(now(), before));
    if (!shrinks.current && !wasSeen) return;
    shrinks.current = false;
    glide(reveal(now(), box, size));
    // Runs only when the size of the view changes.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [size]);
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
    // Runs only for a new selection, not for each new drawing.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [selected]);

  const goToCurrent = useCallback(() => {
    if (current === null) return;
    touch();
    revealNode(current);
  }, [current]);
  const painted = useGraphPainted();
  const timeline = useHealth((state) => state.timeline);
  useWalkKeys();
  const target: GraphKeyTarget = {
    scene, size, selected, now, move, glide, fitAll, select, toggle, goToCurrent,
    around: neighbourhood.depth,
  };
  const notBegun = useJob(({ model }) => model.info?.pause_reason === 'start' && !isOpenedModel(model.info));
  const empty = views.has('') && scene.boxes.length === 0;
  return (
    <Panel
      title={words.graph}
      className="graph-panel"
      actions={
        <>
          <GraphChooser />
          <Button label={words.zoomOut} icon={Minus} iconOnly small tone="quiet" shortcut="−"
            onClick={() => move(zoomAt(now(), size.width / 2, size.height / 2, 1 / 1.3))} />
          <ScaleText control={control} />
          <Button label={words.zoomIn} icon={Plus} iconOnly small tone="quiet" shortcut="+"
            onClick={() => move(zoomAt(now(), size.width / 2, size.height / 2, 1.3))} />
          <Button label={neighbourhood.depth === null ? words.neighbourhood : words.showWholeGraph}
            icon={Waypoints} iconOnly={neighbourhood.depth !== null} small tone="quiet" shortcut="A" pressed={neighbourhood.depth !== null}
            disabledReason={selected === null ? selectNodeFirst : undefined}
            onClick={() => showAround(neighbourhood.depth === null ? 1 : null)} />
          <Button label={words.goToCurrentNode} icon={LocateFixed} iconOnly small tone="quiet" shortcut="G"
            disabledReason={current === null ? words.noCurrentNode : undefined}
            onClick={goToCurrent} />
          <Button label={words.fitGraph} icon={Maximize} iconOnly small tone="quiet" shortcut="Space"
            onClick={fitAll} />
        </>
      }
    >
      <div className="graph-stage">
        <div
          ref={frame}
          className="graph-frame"
          role="group"
          aria-label={words.graphView}
          aria-description={words.graphKeys}
          tabIndex={0}
          title={hoverText(scene, marks, pointer.hovered)}
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
            <Notice icon={Workflow} title={words.noGraph}>
              <p>{words.graphAppears}</p>
            </Notice>
          </div>
        )}
        {notBegun && !empty && <p className="graph-before">{words.beforeFirstStep}</p>}
        {neighbourhood.depth !== null && selected !== null && (
          <div className="graph-around" role="group" aria-label={words.neighbourhood}>
            <span className="ellipsis">
              {words.around} <b className="mono">{selected.slice(selected.lastIndexOf('/') + 1)}</b>
            </span>
            <DistanceButtons depth={neighbourhood.depth} />
            {neighbourhood.note !== null && <span className="graph-around-note">{neighbourhood.note}</span>}
            <Button label={words.wholeGraph} small onClick={() => showAround(null)} />
          </div>
        )}
        {scene.boxes.length > 0 && palette !== null && size.height >= MINIMAP_FROM_PX && (
          <Minimap scene={scene} size={size} control={control} palette={palette} marks={marks} onMove={move} />
        )}
      </div>
      {/* Below the graph, so that it covers no box. */}
      <div className="graph-foot">
        {scene.boxes.length > 0 && (
          <>
            <Suspense>{painted && <GraphHealth />}</Suspense>
            <span className="grow" />
            <GraphLegend trail={marks.trail.size > 0} />
          </>
        )}
      </div>
      <Suspense>{timeline && <ExecutionStrip />}</Suspense>
    </Panel>
  );
}

// A selected node in a closed scope is marked on the scope: the timeline selects nodes without opening
// scopes.
function withShownSelection(marks: Marks, scene: Scene): Marks {
  if (marks.selected === null || scene.byName.has(marks.selected)) return marks;
  const box = boxOf(scene, marks.selected, marks.pathTo);
  return box === null ? marks : { ...marks, selected: box.name };
}

// Tooltip of a box: its full name, which may not fit in the box, and the details that the
// box shows when zoomed in.
function hoverText(scene: Scene, { health }: Marks, name: string | null): string | undefined {
  if (name === null) return undefined;
  const node = scene.byName.get(name)?.node;
  const more = node === undefined ? [] : [node.op_type, detailOf(node)].filter((part) => part !== '');
  const measured = health?.text(name) ?? '';
  if (measured !== '') more.push(measured);
  return [name, ...new Set(more)].join('\n');
}

interface SceneCamera {
  scene: Scene;
  size: Size;
  control: CameraControl;
  painter: React.RefObject<Painter | null>;
  moved: React.RefObject<boolean>;
  anchor: React.RefObject<{ name: string; x: number; y: number } | null>;
  wanted: React.RefObject<string | null>;
  current: string | null;
  selected: string | null;
}

// Moves the camera when the scene changes. Must be called before the hook that draws.
function useCameraForScene(view: SceneCamera): void {
  const { scene, size, control, painter, moved, anchor, wanted, current, selected } = view;
  const before = useRef<Scene>(EMPTY_SCENE);
  useLayoutEffect(() => {
    if (size.width === 0 || scene.boxes.length === 0) return;
    const { now, jump, glide } = control;
    const old = before.current;
    before.current = scene;
    if (old.subject !== scene.subject) {
      moved.current = false;
      anchor.current = null;
      wanted.current = selected;
    }
    const held = anchor.current ?? middleBox(old, now(), size);
    const box = held === null ? undefined : scene.byName.get(held.name);
    const still = { dx: 0, dy: 0 };
    if (moved.current && held !== null && box !== undefined) {
      Object.assign(still, { dx: box.x - held.x, dy: box.y - held.y });
      const camera = now();
      // A jump would end a glide, so skip it if only the marks changed.
      if (still.dx !== 0 || still.dy !== 0) jump({ ...camera, x: camera.x + still.dx, y: camera.y + still.dy });
      // The scope that was just opened may extend beyond the view.
      if (anchor.current !== null && box.open) glide(bringIntoView(now(), box, size));
      anchor.current = null;
    } else if (!moved.current) {
      jump(firstCamera(scene, size, current));
    }
    if (old.subject === scene.subject && old.id !== scene.id && !reducedMotion()) {
      painter.current?.move(oldPlaces(old, scene, still));
    }
    const target = wanted.current === null ? undefined : scene.byName.get(wanted.current);
    if (target !== undefined) {
      wanted.current = null;
      glide(reveal(now(), target, size));
      moved.current = true;
    }
    // A change of the current node alone must not move the camera.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [scene, size, control, painter, moved, anchor, wanted]);
}

// The box nearest to the middle of the view. It keeps its position on the screen when the
// scene changes for another reason than a toggled box.
function middleBox(scene: Scene, camera: Camera, size: Size): Box | null {
  const x = camera.x + size.width / 2 / camera.scale;
  const y = camera.y + size.height / 2 / camera.scale;
  let nearest: Box | null = null;
  let least = Infinity;
  for (const box of scene.boxes) {
    if (box.open) continue;
    const distance = Math.hypot(box.x + box.width / 2 - x, box.y + box.height / 2 - y);
    if (distance < least) [nearest, least] = [box, distance];
  }
  return nearest;
}

// The smallest scale at which names are legible. A graph too large for it is first shown
// around the current node, if there is one.
const LEGIBLE = 0.5;

function firstCamera(scene: Scene, size: Size, current: string | null) {
  const all = { x: 0, y: 0, width: scene.width, height: scene.height };
  const whole = fit(all, size);
  if (whole.scale >= LEGIBLE) return whole;
  const box = current === null ? null : boxOf(scene, current, pathOf);
  if (box !== null) return reveal({ ...whole, scale: LEGIBLE }, box, size);
  return whole;
}
