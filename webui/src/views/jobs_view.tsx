// Home page: a live list of the server's jobs.

import { Boxes, Trash2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { Job } from '../api/types';
import { formatCount } from '../base/format';
import { checkAuth, useAuth } from '../state/auth';
import { hasEnded } from '../state/job';
import { followJobs, forgetJob, loadJobs, useJobs } from '../state/jobs_store';
import { formatRoute, jobRoute } from '../state/route';
import { navigate } from '../state/router';
import { Button } from '../widgets/button';
import { HitBadge } from '../widgets/node_marks';
import { Notice } from '../widgets/notice';
import { JobChip } from '../widgets/state_chip';
import { formatAge } from '../words/age';
import { tryAgain } from '../words/common';
import * as words from '../words/job';
import { Brand } from './brand';
import { ConnectionBanner } from './connection_banner';
import { OpenModel, useModelDrop } from './open_model';
import './jobs_view.css';

const CLOCK_MS = 15_000;

function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), CLOCK_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function isOver(job: Job): boolean {
  return hasEnded(job) || job.state === 'lost';
}

function JobRow({ job, now }: { job: Job; now: number }) {
  const rank = job.ranks[0];
  const target = { view: 'job', route: jobRoute(job.id) } as const;
  return (
    <tr className="jobs-row" onClick={() => navigate(target)}>
      <td>
        <a
          className="jobs-name"
          href={formatRoute(target)}
          onClick={(event) => event.stopPropagation()}
        >
          {job.name}
        </a>
        <div className="muted mono">{job.id}</div>
      </td>
      <td>
        <JobChip job={job} />
        {job.exception ? <div className="muted mono">{job.exception.type}</div> : null}
      </td>
      <td className="number mono">{formatCount(job.step)}</td>
      <td className="mono jobs-node">{job.node ? job.node : <span className="muted">–</span>}</td>
      <td>{job.hit_count > 0 ? <HitBadge count={job.hit_count} /> : <span className="muted">–</span>}</td>
      <td>
        {job.framework} <span className="muted">{job.framework_version}</span>
      </td>
      <td>
        {rank === undefined ? '' : `${rank.device} · ${rank.host}`}
        {job.world_size > 1 && <span className="muted"> · {words.rankCount(job.world_size)}</span>}
      </td>
      <td className="muted" title={job.created_at}>
        {formatAge(job.created_at, now)}
      </td>
      <td className="number" onClick={(event) => event.stopPropagation()}>
        <Button
          label={words.removeJob(job.name)}
          icon={Trash2}
          iconOnly
          small
          tone="quiet"
          disabledReason={isOver(job) ? '' : words.jobNotEnded}
          onClick={() => forgetJob(job)}
        />
      </td>
    </tr>
  );
}

function NoJobs() {
  const server = useAuth((state) => state.server);
  const [host = '127.0.0.1', port = '50051'] = (server?.debugger_address ?? '').split(/:(?=\d+$)/);
  return (
    <Notice icon={Boxes} title={words.noJobs}>
      <p>{words.jobsAppear}</p>
      <pre className="jobs-howto mono">
        {words.howToStart(host, port)}
      </pre>
      <p>{words.dropModel}</p>
    </Notice>
  );
}

function JobsTable({ jobs }: { jobs: readonly Job[] }) {
  const now = useNow();
  // Running jobs first, each group from newest to oldest.
  const ordered = [...jobs].sort(
    (a, b) => Number(isOver(a)) - Number(isOver(b)) || b.created_at.localeCompare(a.created_at),
  );
  return (
    <table className="jobs-table">
      <thead>
        <tr>
          <th>{words.columns.job}</th>
          <th>{words.columns.state}</th>
          <th className="number">{words.columns.step}</th>
          <th>{words.columns.node}</th>
          <th>{words.columns.hits}</th>
          <th>{words.columns.framework}</th>
          <th>{words.columns.device}</th>
          <th>{words.columns.started}</th>
          <th>
            <span className="visually-hidden">{words.columns.actions}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {ordered.map((job) => (
          <JobRow key={job.id} job={job} now={now} />
        ))}
      </tbody>
    </table>
  );
}

export function JobsView() {
  const { jobs: all, error, connection, leaving } = useJobs();
  const jobs = all?.filter((job) => !leaving.has(job.id)) ?? null;
  const server = useAuth((state) => state.server);
  const drop = useModelDrop();
  useEffect(() => followJobs(() => void checkAuth()), []);
  useEffect(() => {
    document.title = 'graphdbg';
  }, []);
  return (
    <div className="jobs">
      <header className="jobs-head">
        <h1>
          <Brand />
        </h1>
        <span className="grow" />
        {server !== null && (
          <span className="muted">
            {server.version} · {words.agentsConnectTo}{' '}
            <span className="mono">{server.debugger_address}</span>
          </span>
        )}
      </header>
      {connection === 'lost' && <ConnectionBanner attempt={1} ended={false} onRetry={() => void loadJobs()} />}
      <main className={`jobs-main${drop.over ? ' jobs-drop' : ''}`} {...drop.handlers}>
        <div className="jobs-title">
          <h2>{words.jobs}</h2>
          <span className="grow" />
          <OpenModel />
        </div>
        <div className={`jobs-card${jobs !== null && jobs.length > 0 ? '' : ' jobs-empty'}`}>
          {jobs === null && error === null && <Notice title={words.loadingJobs} busy />}
          {jobs === null && error !== null && (
            <Notice title={words.jobsNotLoaded} tone="error">
              <p>{error}</p>
              <Button label={tryAgain} onClick={() => void loadJobs()} />
            </Notice>
          )}
          {jobs !== null && jobs.length === 0 && <NoJobs />}
          {jobs !== null && jobs.length > 0 && <JobsTable jobs={jobs} />}
        </div>
      </main>
    </div>
  );
}
