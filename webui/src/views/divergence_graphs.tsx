// The graphs of two recorded runs side by side, around the first tensor that differs or the
// selected node. Both move together.

import { ExternalLink, Maximize, Minus, Plus, X } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Divergence, Renaming } from '../api/types';
import { splitTensor } from '../base/names';
import { runId } from '../base/run_id';
import type { Camera } from '../graph/camera';
import { neighbourView } from '../graph/neighbourhood';
import type { Marks, NodeDifference } from '../graph/marks';
import { EMPTY_SCENE, type Box } from '../graph/scene';
import { summarise } from '../graph/summary';
import { goToTensor } from '../state/checks';
import { describe } from '../state/describe';
import { useNeighboursInRun } from '../state/queries';
import { jobRoute } from '../state/route';
import { navigate, patchRoute } from '../state/router';
import { pathOf } from '../state/scopes';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { Panel } from '../widgets/panel';
import { loading } from '../words/common';
import * as graphWords from '../words/graph';
import * as words from '../words/run';
import { DistanceButtons } from './distance_buttons';
import { useGraphPointer } from './graph_pointer';
import { useJobContext } from './job_context';
import { LinkedCameras, type Side } from './linked_cameras';
import { useSize } from './use_camera';
import { differencesOf, nameHere, nameThere, useCompared } from './use_compared';
import { useDrawing, usePainter } from './use_painter';
import { usePalette } from './use_palette';
import { useViewScene } from './use_view_scene';
import './divergence_graphs.css';

const DEPTH = 2;

type Marked = ReadonlyMap<string, NodeDifference>;

// The nodes that differ, by their names on each side.
function markedOf(found: Divergence): { here: Marked; there: Marked } {
  const onlyIn = (tensors: readonly string[]) =>
    new Map<string, NodeDifference>(tensors.map((name) => [splitTensor(name).node, 'only_here']));
  const [here, there] = [onlyIn(found.only_here), onlyIn(found.only_there)];
  for (const each of differencesOf(found).toReversed()) {
    const difference = each === found.first ? 'first' : 'later';
    here.set(each.node, difference);
    there.set(each.there_node, difference);
  }
  return { here, there };
}

interface Place {
  run: string;
  rank: number;
  step: number;
  node: string;
}

interface SideProps {
  side: Side;
  cameras: LinkedCameras;
  place: Place;
  differences: Marked;
  depth: number;
  title: string;
  onSelect: (node: string) => void;
}

const NOTHING: ReadonlyMap<string, never> = new Map<string, never>();
const NONE: ReadonlySet<string> = new Set();
const NO_RENAMINGS: readonly Renaming[] = [];

function SideGraph({ side, cameras, place, differences, depth, title, onSelect }: SideProps) {
  const { data, error, isPlaceholderData } = useNeighboursInRun(place, depth);
  const answer = isPlaceholderData ? undefined : data;
  const view = useMemo(() => (answer === undefined ? undefined : neighbourView(answer.around, answer.step)), [answer]);
  const laidOut = useViewScene(error === null ? view : null, `${place.run} ${place.rank} ${place.node} ${depth}`);
  const scene = laidOut ?? EMPTY_SCENE;
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(frame);
  const palette = usePalette(frame);
  const control = cameras.controls[side];
  const painter = usePainter(canvas, control);
  const select = useCallback((box: Box | null) => box !== null && onSelect(box.name), [onSelect]);
  const move = useCallback((camera: Camera) => cameras.move(side, camera), [cameras, side]);
  const pointer = useGraphPointer({ frame, scene, now: control.now, move, select, toggle: select, menu: select });
  const marks = useMemo(
    (): Marks => ({
      selected: place.node,
      hovered: pointer.hovered,
      current: null,
      hits: NOTHING,
      trail: NOTHING,
      producers: NONE,
      consumers: NONE,
      pathTo: pathOf,
      differences,
    }),
    [place.node, pointer.hovered, differences],
  );
  const subject = scene.byName.get(place.node);
  useEffect(() => cameras.show(side, subject ?? null, scene, size), [cameras, side, subject, scene, size]);
  useDrawing(painter, { scene, size, marks, palette });
  return (
    <section className="side-graph" aria-label={title}>
      <h3 className="side-title">
        <span className="ellipsis" title={title}>
          {title}
        </span>
        <span className="mono muted ellipsis" title={place.node}>
          {place.node}
        </span>
      </h3>
      <div ref={frame} className="side-frame" title={pointer.hovered ?? undefined} {...pointer.handlers} style={{ cursor: pointer.cursor }}>
        <canvas ref={canvas} role="img" aria-label={summarise(scene, marks)} />
      </div>
      {error !== null && (
        <div className="side-note">
          <Notice title={words.graphNotShown} tone="error">
            {describe(error)}
          </Notice>
        </div>
      )}
      {error === null && laidOut === null && (
        <div className="side-note">
          <Notice title={loading} busy />
        </div>
      )}
    </section>
  );
}

// The distance was that of the comparison.
const close = () => patchRoute({ beside: false, around: null });

export function DivergenceGraphs() {
  const { id, route } = useJobContext();
  const { name, rank, run, chosen, data, error } = useCompared();
  const [cameras] = useState(() => new LinkedCameras());
  const marked = useMemo(() => (data === undefined ? null : markedOf(data)), [data]);
  const differences = useMemo(() => (data === undefined ? [] : differencesOf(data)), [data]);
  const selected = route?.node ?? null;
  const focus = differences.find(({ node, step }) => node === selected && String(step) === route?.step) ?? differences[0];
  const node = selected ?? focus?.node;
  const renamings = data?.renamings ?? NO_RENAMINGS;
  const otherNode = focus !== undefined && node === focus.node ? focus.there_node : node && nameThere(node, renamings);
  const step = Number(route?.step ?? focus?.step ?? 0);
  const otherRank = chosen ?? 0;
  const here = useMemo(() => (node === undefined ? null : { run: id, rank, step, node }), [id, rank, step, node]);
  const there = useMemo(
    () => (otherNode === undefined ? null : { run: runId(run), rank: otherRank, step, node: otherNode }),
    [run, otherRank, step, otherNode],
  );
  const depth = route?.around ?? DEPTH;
  const selectHere = useCallback((next: string) => goToTensor({ step, node: next, slot: 0, rank }), [step, rank]);
  const selectThere = useCallback(
    (next: string) => selectHere(differences.find((each) => each.there_node === next)?.node ?? nameHere(next, renamings)),
    [selectHere, differences, renamings],
  );
  const openOther = () =>
    navigate({ view: 'job', route: { ...jobRoute(runId(run)), rank: otherRank, step: String(step), node: otherNode ?? null, compare: `${name}:${rank}` } }, 'push');
  return (
    <Panel
      title={words.bothGraphs}
      className="divergence-graphs"
      actions={
        <>
          <span className="muted">{graphWords.distance}</span>
          <DistanceButtons depth={depth} />
          <Button label={graphWords.zoomOut} icon={Minus} iconOnly small tone="quiet" onClick={() => cameras.zoom(1 / 1.3)} />
          <Button label={graphWords.zoomIn} icon={Plus} iconOnly small tone="quiet" onClick={() => cameras.zoom(1.3)} />
          <Button label={graphWords.fitGraph} icon={Maximize} iconOnly small tone="quiet" onClick={() => cameras.fit()} />
          <Button label={words.openOther} icon={ExternalLink} iconOnly small tone="quiet" onClick={openOther} />
          <Button label={words.closeBothGraphs} icon={X} iconOnly small tone="quiet" onClick={close} />
        </>
      }
    >
      {error !== null && <Notice title={words.notCompared} tone="error">{describe(error)}</Notice>}
      {error === null && data === undefined && <Notice title={words.comparing} busy />}
      {data !== undefined && differences.length === 0 && <Notice title={words.allAgree(data.matched, data.steps)} />}
      {here !== null && there !== null && marked !== null && differences.length > 0 && (
        <div className="side-graphs">
          <SideGraph side={0} cameras={cameras} place={here} differences={marked.here} depth={depth}
            title={words.sideTitle(name, rank, step)} onSelect={selectHere} />
          <SideGraph side={1} cameras={cameras} place={there} differences={marked.there} depth={depth}
            title={words.sideTitle(run, otherRank, step)} onSelect={selectThere} />
        </div>
      )}
    </Panel>
  );
}
