// How the ranks of a job differ in one tensor: in a strip with a sentence, and in a table.

import { useMemo, useState } from 'react';
import type { TensorSummary } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import { labelOf } from '../base/names';
import { useJob } from '../state/job_store';
import { COLUMNS, differencesOf, valueIn, type Differences, type RankStatistics } from '../state/rank_differences';
import { useRankStatistics } from '../state/rank_statistics';
import { patchRoute, useSelectedRank } from '../state/router';
import { touch } from '../state/ui';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import * as words from '../words/rank_differences';
import { useJobContext } from './job_context';
import { useStopVersion } from './use_stop_version';
import './rank_differences.css';

// So many ranks are compared at first, and further ones when the user asks for them.
const PAGE = 64;

interface Compared extends Differences {
  ranks: readonly RankStatistics[];
  pending: boolean;
  // The ranks that are not compared.
  left: number;
}

// The first ranks, and those that the user is likely to look for: the one shown, and those with hits.
function useRanksCompared(node: string, most: number): { ranks: readonly number[]; left: number } {
  const info = useJob(({ model }) => model.info);
  const hits = useJob(({ model }) => model.hits);
  const shown = useSelectedRank();
  return useMemo(() => {
    const all = (info?.ranks ?? []).map(({ rank }) => rank);
    const wanted = new Set([...all.slice(0, most), shown]);
    for (const hit of hits) if (hit.node === node && wanted.size < most + PAGE) wanted.add(hit.rank);
    const ranks = all.filter((rank) => wanted.has(rank));
    return { ranks, left: all.length - ranks.length };
  }, [info, hits, shown, node, most]);
}

function useCompared({ node, name }: TensorSummary, most: number): Compared {
  const { id } = useJobContext();
  const version = useStopVersion();
  const { ranks, left } = useRanksCompared(node, most);
  const answers = useRankStatistics(id, { node, name }, ranks, version);
  const differences = useMemo(() => differencesOf(answers.ranks), [answers.ranks]);
  return { ...differences, ...answers, left };
}

function goTo(rank: number): void {
  touch();
  patchRoute({ rank }, 'push');
}

const marked = (marks: Differences['marks'], rank: number): words.Column[] => [...(marks.get(rank) ?? [])];

// Nothing while no rank has the tensor.
export function RankStrip({ tensor }: { tensor: TensorSummary }) {
  const compared = useCompared(tensor, PAGE);
  const shown = useSelectedRank();
  const { verdict, marks, known, ranks, pending, left } = compared;
  const stands = marks.size > 0;
  if (known === 0) return null;
  const name = `${labelOf(tensor.node)}:${tensor.slot}`;
  return (
    <div className={`rank-strip${stands ? ' rank-strip-apart' : ''}`} role="group" aria-label={words.ranksOf(name)}>
      <span className="rank-strip-cells">
        {ranks.map(({ rank, statistics }) => {
          const text = words.rankText(rank, marked(marks, rank), statistics !== null);
          return (
            <button
              key={rank}
              type="button"
              className={`rank-strip-cell mono${marks.has(rank) ? ' rank-strip-marked' : ''}${statistics === null ? ' muted' : ''}`}
              aria-label={text}
              aria-pressed={rank === shown}
              title={text}
              onClick={() => goTo(rank)}
            >
              {rank}
            </button>
          );
        })}
      </span>
      <span className="rank-strip-text" role="status" aria-busy={pending || undefined}>
        <span className="mono muted">{name}</span> {pending ? words.comparing : words.sentence(verdict, known)}
        {!pending && left > 0 && <span className="muted"> {words.shownOf(ranks.length, ranks.length + left)}</span>}
      </span>
    </div>
  );
}

function cellText(column: words.Column, value: number | null): string {
  if (value === null) return '–';
  return column === 'nan' || column === 'inf' ? formatCount(value) : formatNumber(value);
}

function Row({ each, compared, shown }: { each: RankStatistics; compared: Compared; shown: boolean }) {
  const { rank, statistics, step } = each;
  const marks = compared.marks.get(rank);
  return (
    <tr aria-current={shown || undefined} className={marks === undefined ? '' : 'rank-row-marked'} onClick={() => goTo(rank)}>
      <th scope="row">
        <button type="button" className="link mono" title={words.showRank(rank)} onClick={() => goTo(rank)}>
          {rank}
        </button>
        {shown && <span className="muted"> {words.shown}</span>}
      </th>
      {statistics === null ? (
        <td className="muted" colSpan={COLUMNS.length + 1}>
          {words.notKnown}
        </td>
      ) : (
        <>
          {COLUMNS.map((column) => (
            <td key={column} className={marks?.has(column) ? 'number rank-value-marked' : 'number'}>
              {cellText(column, valueIn(column, statistics))}
            </td>
          ))}
          <td className={step === compared.step ? 'number muted' : 'number'}>{step}</td>
        </>
      )}
    </tr>
  );
}

export function RankTable({ tensor }: { tensor: TensorSummary }) {
  const [most, setMost] = useState(PAGE);
  const compared = useCompared(tensor, most);
  const shown = useSelectedRank();
  const { ranks, pending, left, verdict, known } = compared;
  if (ranks.length === 0) return <Notice title={words.comparing} busy={pending} />;
  return (
    <div className="rank-table" tabIndex={0} role="region" aria-label={words.tableOf(tensor.name)}>
      <p role="status" aria-busy={pending || undefined}>
        {pending ? words.comparing : words.sentence(verdict, known)}
        {left > 0 && <span className="muted"> {words.shownOf(ranks.length, ranks.length + left)}</span>}
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.rank}</th>
            {COLUMNS.map((column) => (
              <th key={column} scope="col" className="number">
                {words.columns[column]}
              </th>
            ))}
            <th scope="col" className="number">
              {words.step}
            </th>
          </tr>
        </thead>
        <tbody className="mono">
          {ranks.map((each) => (
            <Row key={each.rank} each={each} compared={compared} shown={each.rank === shown} />
          ))}
        </tbody>
      </table>
      {left > 0 && <Button label={words.more(Math.min(PAGE, left))} small onClick={() => setMost(most + PAGE)} />}
    </div>
  );
}
