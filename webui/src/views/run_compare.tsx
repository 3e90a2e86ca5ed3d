// Where a recorded run, or a rank of it, parts from another one: the first tensor that differs.

import type { Difference, Divergence } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import { runName } from '../base/run_id';
import { goToTensor } from '../state/checks';
import { describe } from '../state/describe';
import { useJob } from '../state/job_store';
import { useDivergence, useRuns } from '../state/queries';
import { patchRoute, useRouter, useSelectedRank } from '../state/router';
import { FullName } from '../widgets/full_name';
import { Notice } from '../widgets/notice';
import * as words from '../words/run';
import { useJobContext } from './job_context';

const valueText = (value: number | string) => (typeof value === 'number' ? formatNumber(value) : value);

function DifferenceRow({ difference, rank }: { difference: Difference; rank: number }) {
  const { step, node, slot, measure, here, there } = difference;
  return (
    <li>
      <button type="button" className="check-hit" title={node} onClick={() => goToTensor({ step, node, slot, rank })}>
        <span className="mono check-step">{words.hitAt(step, rank, false)}</span>
        <FullName name={node} />
        <span className="muted mono ellipsis">{words.differsIn(measure, valueText(here), valueText(there))}</span>
      </button>
    </li>
  );
}

function Result({ found, rank }: { found: Divergence; rank: number }) {
  const { first, next, matched, steps } = found;
  const missing = found.only_here_count + found.only_there_count;
  return (
    <>
      {first === null && (
        <p className="check-result" role="status">
          {matched === 0 ? words.nothingInCommon : words.allAgree(matched, steps)}
        </p>
      )}
      {first !== null && (
        <>
          <p className="check-result" role="status">
            {words.firstDifference}
          </p>
          <ul aria-label={words.firstDifference}>
            <DifferenceRow difference={first} rank={rank} />
          </ul>
        </>
      )}
      {next.length > 0 && (
        <details>
          <summary>
            {words.nextDifferences}: {formatCount(next.length)}
          </summary>
          <ul aria-label={words.nextDifferences}>
            {next.map((each, place) => (
              // The same tensor may differ several times in a step.
              <DifferenceRow key={place} difference={each} rank={rank} />
            ))}
          </ul>
        </details>
      )}
      {missing > 0 && (
        <p className="muted" title={[...found.only_here, ...found.only_there].join('\n')}>
          {words.onlyHere(found.only_here_count)}, {words.onlyThere(found.only_there_count)}
        </p>
      )}
    </>
  );
}

// The run and the rank that the address names; run ids have no colon.
function useCompared(): { run: string; rank: number | null } {
  const compared = useRouter(({ route }) => (route.view === 'job' ? route.route.compare : null));
  const [run = '', rank] = compared?.split(':') ?? [];
  return { run, rank: rank === undefined ? null : Number(rank) };
}

const compareWith = (run: string, rank: number | null) =>
  patchRoute({ compare: run === '' ? null : rank === null ? run : `${run}:${rank}` });

// Nothing unless there is another rank or another run.
export function RunCompare() {
  const { id } = useJobContext();
  const rank = useSelectedRank();
  const name = runName(id);
  const version = useJob(({ model }) => `${model.graph_version}`);
  const runs = useRuns().data?.runs ?? [];
  const { run, rank: otherRank } = useCompared();
  const choices = runs.filter((each) => each.id !== name || each.ranks.length > 1);
  const ranks = (runs.find((each) => each.id === run)?.ranks ?? []).map((each) => each.rank).filter((each) => run !== name || each !== rank);
  const chosen = otherRank !== null && ranks.includes(otherRank) ? otherRank : (ranks.find((each) => each === rank) ?? ranks[0]);
  const other = chosen === undefined ? null : `${run}:${chosen}`;
  const { data, error, isFetching } = useDivergence(id, rank, other, version);
  if (choices.length === 0) return null;
  return (
    <section className="check" aria-label={words.compareRuns} aria-busy={isFetching}>
      <div className="check-head">
        <strong>{words.compareRuns}</strong>
        <select className="field" aria-label={words.compareWithRun} value={run} onChange={(event) => compareWith(event.target.value, null)}>
          <option value="">{words.noOther}</option>
          {choices.map((each) => (
            <option key={each.id} value={each.id}>
              {each.id === name ? words.thisRun : each.id}
            </option>
          ))}
        </select>
        {ranks.length > (run === name ? 0 : 1) && (
          <select
            className="field"
            aria-label={words.compareWithRank}
            value={chosen}
            onChange={(event) => compareWith(run, Number(event.target.value))}
          >
            {ranks.map((each) => (
              <option key={each} value={each}>
                {words.rankName(each)}
              </option>
            ))}
          </select>
        )}
      </div>
      {isFetching && <Notice title={words.comparing} busy />}
      {error !== null && (
        <Notice title={words.notCompared} tone="error">
          {describe(error)}
        </Notice>
      )}
      {data !== undefined && <Result found={data} rank={rank} />}
    </section>
  );
}
