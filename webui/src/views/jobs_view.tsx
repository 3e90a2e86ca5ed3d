// Home: the jobs of this server, live.

import { Boxes, Trash2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { Job } from '../api/types';
import { formatAge, formatCount } from '../base/format';
import { checkAuth, useAuth } from '../state/auth';
import { hasEnded } from '../state/job';
import { followJobs, forgetJob, loadJobs, useJobs } from '../state/jobs_store';
import { formatRoute, jobRoute } from '../state/route';
import { navigate } from '../state/router';
import { Button } from '../widgets/button';
import { HitBadge } from '../widgets/node_marks';
import { Notice } from '../widgets/notice';
import { JobChip } from '../widgets/state_chip';
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
        {job.world_size > 1 && <span className="muted"> · {job.world_size} ranks</span>}
      </td>
      <td className="muted" title={job.created_at}>
        {formatAge(job.created_at, now)}
      </td>
      <td className="number" onClick={(event) => event.stopPropagation()}>
        <Button
          label={`Forget ${job.name}`}
          icon={Trash2}
          iconOnly
          small
          tone="quiet"
          disabledReason={isOver(job) ? '' : 'the job has not ended.'}
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
    <Notice icon={Boxes} title="No job yet">
      <p>It appears here as soon as a training script starts with graphdbg. No reload is needed.</p>
      <pre className="jobs-howto mono">
        {`export GRAPHDBG_ENABLE=1 GRAPHDBG_HOST=${host} GRAPHDBG_PORT=${port}\npython train.py`}
      </pre>
      <p>An ONNX model can be looked at without being run: drop its file here.</p>
    </Notice>
  );
}

function JobsTable({ jobs }: { jobs: readonly Job[] }) {
  const now = useNow();
  // Those that still run first, then the newest.
  const ordered = [...jobs].sort(
    (a, b) => Number(isOver(a)) - Number(isOver(b)) || b.created_at.localeCompare(a.created_at),
  );
  return (
    <table className="jobs-table">
      <thead>
        <tr>
          <th>Job</th>
          <th>State</th>
          <th className="number">Step</th>
          <th>Node</th>
          <th>Hits</th>
          <th>Framework</th>
          <th>Device</th>
          <th>Started</th>
          <th>
            <span className="visually-hidden">Actions</span>
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
            {server.version} · agents connect to{' '}
            <span className="mono">{server.debugger_address}</span>
          </span>
        )}
      </header>
      {connection === 'lost' && <ConnectionBanner attempt={1} ended={false} onRetry={() => void loadJobs()} />}
      <main className={`jobs-main${drop.over ? ' jobs-drop' : ''}`} {...drop.handlers}>
        <div className="jobs-title">
          <h2>Jobs</h2>
          <span className="grow" />
          <OpenModel />
        </div>
        <div className={`jobs-card${jobs !== null && jobs.length > 0 ? '' : ' jobs-empty'}`}>
          {jobs === null && error === null && <Notice title="Loading jobs" busy />}
          {jobs === null && error !== null && (
            <Notice title="The jobs could not be loaded" tone="error">
              <p>{error}</p>
              <Button label="Try again" onClick={() => void loadJobs()} />
            </Notice>
          )}
          {jobs !== null && jobs.length === 0 && <NoJobs />}
          {jobs !== null && jobs.length > 0 && <JobsTable jobs={jobs} />}
        </div>
      </main>
    </div>
  );
}
