// The recorded runs of the server, below the list of jobs.

import { useQuery } from '@tanstack/react-query';
import { api } from '../api/client';
import type { Run } from '../api/types';
import { formatBytes, formatCount } from '../base/format';
import { runId } from '../base/run_id';
import { describe } from '../state/describe';
import { formatRoute, jobRoute } from '../state/route';
import { navigate } from '../state/router';
import { Notice } from '../widgets/notice';
import { formatAge } from '../words/age';
import * as words from '../words/run';

const REFRESH_MS = 5000;

function RunRow({ run, now }: { run: Run; now: number }) {
  const target = { view: 'job', route: jobRoute(runId(run.id)) } as const;
  return (
    <tr className="jobs-row" onClick={() => navigate(target)}>
      <td>
        <a className="jobs-name" href={formatRoute(target)} onClick={(event) => event.stopPropagation()}>
          {run.id}
        </a>
        {run.resumes !== null && <div className="muted">{words.continues(run.resumes)}</div>}
      </td>
      <td className="mono">{run.program}</td>
      <td>
        {run.ended === null ? words.recording : words.endNames[run.ended]}
        {run.exception ? <div className="muted mono">{run.exception.type}</div> : null}
        {run.damage.length > 0 && (
          <div className="jobs-reason" title={run.damage.map(({ file, reason }) => `${file}: ${reason}`).join('\n')}>
            {words.damagedFiles(run.damage.length)}
          </div>
        )}
      </td>
      <td className="mono">{words.stepRange(run.first_step, run.last_step)}</td>
      <td className="number mono">{formatCount(run.ranks.length)}</td>
      <td className="number mono">{formatBytes(run.log_bytes)}</td>
      <td className="muted" title={run.created_at}>
        {formatAge(run.created_at, now)}
      </td>
    </tr>
  );
}

// Nothing if the server has no runs.
export function RunsList({ now }: { now: number }) {
  const { data, error } = useQuery({
    queryKey: ['runs'],
    queryFn: ({ signal }) => api.runs(signal),
    refetchInterval: REFRESH_MS,
    staleTime: 0,
  });
  if (error !== null) {
    return (
      <Notice title={words.runsNotLoaded} tone="error">
        {describe(error)}
      </Notice>
    );
  }
  if (data === undefined || data.runs.length === 0) return null;
  const runs = data.runs.toSorted((a, b) => b.created_at.localeCompare(a.created_at));
  return (
    <>
      <div className="jobs-title">
        <h2>{words.runs}</h2>
      </div>
      <div className="jobs-card">
        <table className="jobs-table" aria-label={words.runs}>
          <thead>
            <tr>
              <th>{words.columns.run}</th>
              <th>{words.columns.program}</th>
              <th>{words.columns.ended}</th>
              <th>{words.columns.steps}</th>
              <th className="number">{words.columns.ranks}</th>
              <th className="number">{words.columns.size}</th>
              <th>{words.columns.started}</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <RunRow key={run.id} run={run} now={now} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
