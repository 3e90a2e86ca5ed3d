// The ranks of a large job in a grid coloured by state or value, those that stand out first.

import { useEffect, useMemo, useRef, useState } from 'react';
import type { Job, Rank } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import { useRankNorms } from '../state/rank_norms';
import { cellsOf, COLOURINGS, outliersFirst, type Colouring, type RankCell } from '../state/rank_order';
import { patchRoute } from '../state/router';
import { touch } from '../state/ui';
import { stateWords } from '../state/words';
import { Button } from '../widgets/button';
import * as words from '../words/ranks';
import { useJobContext } from './job_context';
import { drawRanks, gridOf, placeAt, readRankColours, type RankGrid } from './rank_grid_painter';
import { RankDetails, rankText } from './ranks';
import { useStopVersion } from './use_stop_version';
import { useTheme } from './use_theme';
import './rank_grid.css';

const WIDTH = 536;
const OUTLIERS = 12;
// Of about 1,024 values of a normal distribution, none is so many usual distances away.
const FAR = 6;

function textOf({ rank, hits, value }: RankCell, by: Colouring): string {
  const known = value === null ? words.notKnown : formatNumber(value);
  return [rankText(rank, hits), words.cellValue(by, known)].filter((part) => part !== '').join(', ');
}

function rangeOf(cells: readonly RankCell[], by: Colouring): string {
  if (by === 'state') return '';
  const values = cells.flatMap(({ value }) => (value !== null && Number.isFinite(value) ? [value] : []));
  if (values.length === 0) return words.notKnown;
  const format = by === 'norm' ? formatNumber : formatCount;
  return words.range(format(values.reduce((a, b) => Math.min(a, b))), format(values.reduce((a, b) => Math.max(a, b))));
}

// Drawn at most once per frame, however often ranks report.
function useDrawing(canvas: React.RefObject<HTMLCanvasElement | null>, grid: RankGrid, cells: readonly RankCell[], by: Colouring, chosen: number) {
  const colours = useTheme(canvas, readRankColours);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context || colours === null) return undefined;
    const frame = requestAnimationFrame(() => {
      const ratio = window.devicePixelRatio;
      const [width, height] = [Math.round(grid.width * ratio), Math.round(grid.height * ratio)];
      if (context.canvas.width !== width) context.canvas.width = width;
      if (context.canvas.height !== height) context.canvas.height = height;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      drawRanks(context, grid, cells, { byState: by === 'state', chosen, colours });
    });
    return () => cancelAnimationFrame(frame);
  }, [canvas, colours, grid, cells, by, chosen]);
}

function StateCounts({ job }: { job: Job }) {
  const counts = Object.entries(job.rank_states ?? {}) as Array<[Rank['state'], number]>;
  if (counts.length === 0) return null;
  return (
    <p className="rank-grid-counts">
      {counts.map(([state, count]) => (
        <span key={state}>
          <i className={`rank-dot rank-${state}`} aria-hidden /> {words.ranksInState(count, stateWords(state, null))}
        </span>
      ))}
    </p>
  );
}

interface CellsProps {
  cells: readonly RankCell[];
  by: Colouring;
  chosen: number;
  onChoose: (rank: number) => void;
  onShow: (rank: number) => void;
}

function Cells({ cells, by, chosen, onChoose, onShow }: CellsProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const grid = useMemo(() => gridOf(cells.length, WIDTH), [cells.length]);
  useDrawing(canvas, grid, cells, by, chosen);
  useEffect(() => box.current?.focus(), []);
  const at = Math.max(0, cells.findIndex(({ rank }) => rank.rank === chosen));
  const cell = cells[at];
  const under = (event: React.MouseEvent) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const place = placeAt(grid, cells.length, event.clientX - left, event.clientY - top);
    return place === null ? undefined : cells[place];
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Enter') onShow(chosen);
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: grid.columns, ArrowUp: -grid.columns, Home: -at, End: cells.length }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = cells[Math.min(cells.length - 1, Math.max(0, at + by))];
    if (next) onChoose(next.rank.rank);
  };
  return (
    <div
      ref={box}
      className="rank-grid-cells"
      role="slider"
      tabIndex={0}
      aria-label={words.gridOfRanks(cells.length)}
      aria-valuemin={0}
      aria-valuemax={cells.length - 1}
      aria-valuenow={at}
      aria-valuetext={cell === undefined ? '' : textOf(cell, by)}
      onKeyDown={onKeyDown}
    >
      <canvas
        ref={canvas}
        className="rank-grid-canvas"
        style={{ width: grid.width, height: grid.height }}
        onClick={(event) => {
          const found = under(event);
          if (found) onChoose(found.rank.rank);
        }}
        onDoubleClick={(event) => {
          const found = under(event);
          if (found) onShow(found.rank.rank);
        }}
        onMouseMove={(event) => {
          const found = under(event);
          event.currentTarget.title = found ? textOf(found, by) : '';
        }}
      />
    </div>
  );
}

function Outliers({ cells, by, onChoose }: { cells: readonly RankCell[]; by: Colouring; onChoose: (rank: number) => void }) {
  const found = useMemo(
    () => outliersFirst(cells).slice(0, OUTLIERS).filter(({ distance, hits, rank }) => distance >= FAR || hits > 0 || rank.state === 'lost'),
    [cells],
  );
  return (
    <div className="rank-grid-outliers" role="group" aria-label={words.standOut}>
      <p>{found.length === 0 ? words.noneStandsOut : words.standOut}</p>
      {found.map((cell) => (
        <Button key={cell.rank.rank} label={textOf(cell, by)} small onClick={() => onChoose(cell.rank.rank)} />
      ))}
    </div>
  );
}

interface Props {
  job: Job;
  hits: ReadonlyMap<number, number>;
  current: number;
  onDone: () => void;
}

export function RankGridView({ job, hits, current, onDone }: Props) {
  const { id, route } = useJobContext();
  const [by, setBy] = useState<Colouring>('state');
  const [chosen, setChosen] = useState(current);
  const node = by === 'norm' ? (route?.node ?? null) : null;
  const { norms, pending } = useRankNorms(id, node, job.ranks, job.step, useStopVersion());
  const cells = useMemo(() => cellsOf(job.ranks, hits, norms, by), [job.ranks, hits, norms, by]);
  const rank = job.ranks.find((each) => each.rank === chosen);
  const show = (wanted: number) => {
    touch();
    patchRoute({ rank: wanted }, 'push');
    onDone();
  };
  return (
    <>
      <div className="rank-grid-head">
        <label>
          {words.colourBy}{' '}
          <select className="field" value={by} onChange={(event) => setBy(event.target.value as Colouring)}>
            {COLOURINGS.filter((each) => each !== 'norm' || Boolean(route?.node)).map((each) => (
              <option key={each} value={each}>
                {words.colourings[each]}
              </option>
            ))}
          </select>
        </label>
        <span className="rank-grid-range mono" role="status">
          {pending ? words.asking : rangeOf(cells, by)}
        </span>
      </div>
      <StateCounts job={job} />
      <Outliers cells={cells} by={by} onChoose={setChosen} />
      <Cells cells={cells} by={by} chosen={chosen} onChoose={setChosen} onShow={show} />
      {rank !== undefined && (
        <>
          <p className="ranks-text">{rankText(rank, hits.get(rank.rank) ?? 0)}</p>
          <RankDetails rank={rank} current={current} onDone={onDone} />
        </>
      )}
    </>
  );
}
