// The modules of a job over its steps: the loss on top, below it a picture with one row per
// module, or the time of the steps and of the ops of one of them.

import { LayoutGrid } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { endMeasure, measureToPaint, OVERVIEW_PAINT } from '../base/timing';
import { isRun } from '../base/run_id';
import { isLogarithmic, type Measure } from '../overview/measures';
import { ModuleTree, type Row } from '../overview/rows';
import { followSpan, isWhole, revealColumn, wholeSpan, zoomSpan, type Frame, type Span } from '../overview/span';
import { describe } from '../state/describe';
import { hasEnded } from '../state/job';
import { useJob } from '../state/job_store';
import type { OverviewData } from '../state/overview_data';
import { useOverviewMeasure } from '../state/overview_route';
import { setOpenGroups, useFollowOverview, useOverview } from '../state/overview_store';
import { useSelectedRank } from '../state/router';
import { Notice } from '../widgets/notice';
import { useElementSize } from '../widgets/use_size';
import { overview as title } from '../words/graph';
import * as words from '../words/overview';
import { useJobContext } from './job_context';
import { OverviewDetail } from './overview_detail';
import { OverviewFooter } from './overview_footer';
import { OverviewHead } from './overview_head';
import { hover, type Cell } from './overview_hover';
import { OverviewMap } from './overview_map';
import { OverviewOpsPane } from './overview_ops';
import { HoverLine, OverviewTip, StepLine } from './overview_tip';
import { firstOpen, useShown, type Shown } from './overview_shown';
import { OverviewTable } from './overview_table';
import { LossTrack, TimeTrack } from './overview_tracks';
import './overview_panel.css';

// Values and the ends of scales are side by side in the labels' column.
const LABELS = { share: 0.28, least: 132, most: 240 };
const RIGHT_PX = 12;

// Why there is nothing to show.
function useReason(data: OverviewData | null, rank: number): string {
  const { id } = useJobContext();
  const info = useJob(({ model }) => model.info);
  const problem = useOverview((state) => state.problem);
  if (problem !== null) return problem.code === 'not_found' ? words.oldServer : describe(problem);
  const others = data?.ranks ?? [];
  if (others.length > 0 && !others.includes(rank)) return words.otherRanks(rank, others);
  if (isRun(id)) return words.nothingRecorded;
  const step = info?.step ?? 0;
  if (step === 0 && !hasEnded(info)) return words.nothingYet;
  return step <= 1 && !hasEnded(info) ? words.afterThisStep : words.switchedOff;
}

// The steps in view. All of them until the user zooms, and then those, as steps come and go.
function useSpan({ steps, dropped }: OverviewData) {
  const columns = steps.length;
  const [zoomed, setZoomed] = useState<Span | null>(null);
  const before = useRef({ columns, dropped });
  useEffect(() => {
    const { columns: old, dropped: oldDropped } = before.current;
    before.current = { columns, dropped };
    if (old !== columns || oldDropped !== dropped) {
      setZoomed((span) => span && followSpan(span, dropped - oldDropped, old, columns));
    }
  }, [columns, dropped]);
  const span = useMemo(() => zoomed ?? wholeSpan(columns), [zoomed, columns]);
  // Starts from the latest span, which may not have been rendered yet.
  const change = useCallback(
    (next: (span: Span) => Span) =>
      setZoomed((now) => {
        const wanted = next(now ?? wholeSpan(columns));
        return isWhole(wanted, columns) ? null : wanted;
      }),
    [columns],
  );
  return { span, change, columns };
}

function useTiming(shown: Shown | null, measure: Measure): void {
  const received = shown?.data.received_at;
  const isShown = shown?.data.measure === measure;
  useEffect(() => {
    if (received !== undefined) measureToPaint(OVERVIEW_PAINT, received);
  }, [received]);
  useEffect(() => {
    if (received !== undefined && isShown) endMeasure('graphdbg:overview');
  }, [received, isShown, measure]);
}

export function OverviewPanel() {
  const { id } = useJobContext();
  const rank = useSelectedRank();
  const measure = useOverviewMeasure();
  useFollowOverview(id, rank, measure);
  const data = useOverview((state) => (state.job === id && state.rank === rank ? state.data : null));
  const problem = useOverview((state) => state.problem);
  const modules = data?.modules;
  const tree = useMemo(() => new ModuleTree(modules ?? []), [modules]);
  const shown = useShown(data, tree);
  const reason = useReason(data, rank);
  useTiming(shown, measure);
  useEffect(() => () => hover(null), []);
  if (shown === null && problem === null) return <Notice title={words.loadingOverview} busy />;
  if (shown === null || shown.data.steps.length === 0 || problem?.code === 'not_found') {
    return (
      <Notice icon={LayoutGrid} title={words.noOverview}>
        <p>{reason}</p>
      </Notice>
    );
  }
  return <Overview shown={shown} tree={tree} measure={measure} />;
}

// Whether ops were timed: those of older recordings and agents are not.
function useTimed({ data }: Shown): boolean {
  return useMemo(() => data.measure === 'time' && data.values.values.some((value) => !Number.isNaN(value)), [data]);
}

function Overview({ shown, tree, measure }: { shown: Shown; tree: ModuleTree; measure: Measure }) {
  const time = measure === 'time';
  const timed = useTimed(shown);
  // The modules are shown, and not only the times of whole steps.
  const picture = !time || timed;
  const { route } = useJobContext();
  const { span, change, columns } = useSpan(shown.data);
  const frame = useRef<HTMLDivElement>(null);
  const size = useElementSize(frame);
  const left = Math.round(Math.min(LABELS.most, Math.max(LABELS.least, size.width * LABELS.share)));
  const place = useMemo<Frame>(() => ({ left, width: Math.max(1, size.width - left - RIGHT_PX) }), [left, size.width]);
  const [cursor, setCursor] = useState<Cell | null>(null);
  const [fitted, setFitted] = useState(false);
  const [table, setTable] = useState(false);
  const [detail, setDetail] = useState<string | null>(null);
  const { rows } = shown;
  const { dropped } = shown.data;
  const droppedBefore = useRef(dropped);
  useEffect(() => {
    const by = dropped - droppedBefore.current;
    droppedBefore.current = dropped;
    if (by !== 0) setCursor((now) => (now !== null && by > 0 && now.column >= by ? { ...now, column: now.column - by } : null));
  }, [dropped]);

  // Shows the distribution of a row, or hides it.
  const toggleDetail = useCallback((row: Row) => setDetail((now) => (now === row.key ? null : row.key)), []);
  const toggleGroup = useCallback(
    (row: Row) => {
      if (row.folded === null) return;
      const open = new Set(useOverview.getState().open ?? firstOpen(tree));
      if (row.folded) open.add(row.path);
      else open.delete(row.path);
      setOpenGroups(open);
      // The rows up to this one stay where they are.
      const place = rows.indexOf(row);
      setCursor((now) => (now !== null && now.row <= place ? now : null));
    },
    [tree, rows],
  );
  const moveTo = useCallback(
    (cell: Cell) => {
      setCursor(cell);
      change((now) => revealColumn(now, cell.column, columns));
    },
    [change, columns],
  );

  const zoom = (factor: number) => change((now) => zoomSpan(now, factor, (now.from + now.to) / 2, columns));
  const opened = rows.find(({ key }) => key === detail);
  const selected = route?.node?.replace(/^(forward|backward|Default)\//, '') ?? null;
  return (
    <section className="overview" aria-label={title} ref={frame}>
      <OverviewHead
        measure={measure}
        picture={picture}
        whole={isWhole(span, columns)}
        foldable={rows.some(({ folded }) => folded !== null)}
        anyFolded={rows.some(({ folded }) => folded === true)}
        fitted={fitted}
        table={table}
        onZoom={zoom}
        onWhole={() => change(() => wholeSpan(columns))}
        onFold={(open) => {
          setOpenGroups(new Set(open ? tree.groups() : []));
          setCursor(null);
        }}
        onFit={() => setFitted(!fitted)}
        onTable={() => setTable(!table)}
      />
      <div className="overview-tracks">
        <LossTrack steps={shown.data.steps} span={span} frame={place} onSpan={change} />
        {time && <TimeTrack steps={shown.data.steps} span={span} frame={place} low={picture} />}
        {!picture ? null : table ? (
          <OverviewTable shown={shown} onChoose={(row) => setDetail(row.key)} />
        ) : (
          <OverviewMap
            shown={shown}
            span={span}
            frame={place}
            fitted={fitted}
            cursor={cursor}
            selected={selected}
            onCursor={moveTo}
            onSpan={change}
            onToggle={toggleGroup}
            onDetail={toggleDetail}
          />
        )}
        {opened !== undefined && picture && (
          <OverviewDetail row={opened} shown={shown} span={span} frame={place} onClose={() => setDetail(null)} />
        )}
        {!(picture && table) && (
          <>
            <StepLine shown={shown} span={span} frame={place} />
            <HoverLine span={span} frame={place} />
          </>
        )}
      </div>
      {time && timed && (
        <OverviewOpsPane wanted={shown.data.steps[cursor?.column ?? -1]?.step ?? null} lastStep={shown.data.steps.at(-1)?.step ?? 0} />
      )}
      <OverviewFooter shown={shown} picture={picture} />
      <OverviewTip shown={shown} span={span} time={time} logarithmic={isLogarithmic(shown.data.measure)} size={size} />
    </section>
  );
}
