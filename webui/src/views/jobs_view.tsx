// Home page: a live list of the server's jobs.

import { Boxes, ScrollText } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import type { Job, Storage } from '../api/types';
import { exceptionLine } from '../base/exception';
import { formatCount, formatNumber } from '../base/format';
import { checkAuth, useAuth } from '../state/auth';
import { isOver } from '../state/job';
import { controlJob, followJobs, loadJobs, removeJob, useJobs } from '../state/jobs_store';
import { useMayAttach } from '../state/may_attach';
import { reasonAgainst } from '../state/permissions';
import { formatRoute, jobRoute } from '../state/route';
import { navigate } from '../state/router';
import { useStorage } from '../state/storage';
import { hasFailed } from '../state/words';
import { Button } from '../widgets/button';
import { GuideLink } from '../widgets/guide_link';
import { Confirm } from '../widgets/confirm';
import { HitBadge } from '../widgets/node_marks';
import { Notice } from '../widgets/notice';
import { JobChip } from '../widgets/state_chip';
import { Toasts } from '../widgets/toasts';
import { TrustTags } from '../widgets/trust_tags';
import { auditLog } from '../words/access';
import { formatAge } from '../words/age';
import { tryAgain } from '../words/common';
import { confirmTerminate, terminateJob, terminateWarning } from '../words/control';
import * as counts from '../words/counts';
import * as words from '../words/job';
import { unreadableJobs } from '../words/storage';
import { Brand } from './brand';
import { ConnectionBanner } from './connection_banner';
import { JobRowControls } from './job_row_controls';
import { OpenModel, useModelDrop } from './open_model';
import { SignedIn } from './signed_in';
import { StorageBanner } from './storage_banner';
import './jobs_view.css';

const RunsList = lazy(async () => ({ default: (await import('./runs_list')).RunsList }));
const TrainingsList = lazy(async () => ({ default: (await import('./trainings_list')).TrainingsList }));

const NONE_SET_ASIDE: Storage['set_aside'] = [];
const CLOCK_MS = 15_000;
const MAX_METRICS = 2;

function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), CLOCK_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

// Why the job ended, or is about to; empty if it finished well or goes on.
function endOf(job: Job): string {
  if (job.exception) return exceptionLine(job.exception);
  if (job.state === 'lost') return words.lastSeen(counts.steps(job.step));
  return hasFailed(job) ? words.exitCode(job.exit_code) : '';
}

// The last values of the scalars that the program saved, the loss first.
function metricsOf({ metrics }: Job): string {
  return Object.entries(metrics ?? {})
    .sort(([a], [b]) => Number(b === 'loss') - Number(a === 'loss') || a.localeCompare(b))
    .slice(0, MAX_METRICS)
    .map(([name, value]) => `${name} ${formatNumber(value, 4)}`)
    .join(', ');
}

interface RowProps {
  job: Job;
  now: number;
  // Some job of the list has saved scalars.
  metrics: boolean;
  onTerminate: (job: Job) => void;
  onRemove: (job: Job) => void;
}

function JobRow({ job, now, metrics, onTerminate, onRemove }: RowProps) {
  const end = endOf(job);
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
        <span className="jobs-state">
          <JobChip job={job} />
          <TrustTags job={job} />
        </span>
        {job.damaged !== undefined && <div className="jobs-reason">{job.damaged}</div>}
        {end !== '' && (
          <div className="jobs-end ellipsis" title={end}>
            {end}
          </div>
        )}
      </td>
      <td className="number mono">{formatCount(job.step)}</td>
      <td className="mono jobs-node">{job.node ? job.node : <span className="muted">–</span>}</td>
      <td>{job.hit_count > 0 ? <HitBadge count={job.hit_count} /> : <span className="muted">–</span>}</td>
      {metrics && <td className="mono">{metricsOf(job) || <span className="muted">–</span>}</td>}
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
        <JobRowControls job={job} onTerminate={() => onTerminate(job)} onRemove={() => onRemove(job)} />
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

// Jobs whose data could not be read at all.
function UnreadableJobs({ jobs }: { jobs: readonly Job[] }) {
  const setAside = useStorage(({ storage }) => storage?.set_aside) ?? NONE_SET_ASIDE;
  const unlisted = setAside.filter(({ job }) => jobs.every(({ id }) => id !== job));
  if (unlisted.length === 0) return null;
  return (
    <section className="jobs-card jobs-unreadable" aria-label={unreadableJobs}>
      <h3>{unreadableJobs}</h3>
      <ul>
        {unlisted.map(({ job, reason }) => (
          <li key={job}>
            <span className="mono">{job}</span> <span className="jobs-reason">{reason}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function JobsTable({ jobs }: { jobs: readonly Job[] }) {
  const [removing, setRemoving] = useState<Job | null>(null);
  const [ending, setEnding] = useState<Job | null>(null);
  const metrics = jobs.some((job) => metricsOf(job) !== '');
  const now = useNow();
  // Running jobs first, each group from newest to oldest.
  const ordered = [...jobs].sort(
    (a, b) => Number(isOver(a)) - Number(isOver(b)) || b.created_at.localeCompare(a.created_at),
  );
  return (
    <>
      <table className="jobs-table">
        <thead>
          <tr>
            <th>{words.columns.job}</th>
            <th>{words.columns.state}</th>
            <th className="number">{words.columns.step}</th>
            <th>{words.columns.node}</th>
            <th>{words.columns.hits}</th>
            {metrics && <th>{words.columns.metrics}</th>}
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
            <JobRow key={job.id} job={job} now={now} metrics={metrics} onTerminate={setEnding} onRemove={setRemoving} />
          ))}
        </tbody>
      </table>
      <Confirm
        open={removing !== null}
        title={words.confirmRemoval(removing?.name ?? '')}
        text={words.removalWarning}
        action={words.remove}
        onConfirm={() => removing !== null && void removeJob(removing)}
        onClose={() => setRemoving(null)}
      />
      <Confirm
        open={ending !== null}
        title={confirmTerminate(ending?.name ?? '')}
        text={terminateWarning}
        action={terminateJob}
        onConfirm={() => ending !== null && void controlJob(ending, 'terminate')}
        onClose={() => setEnding(null)}
      />
    </>
  );
}

export function JobsView() {
  const { jobs, error, connection } = useJobs();
  const session = useAuth((state) => state.session);
  const server = useAuth((state) => state.server);
  const drop = useModelDrop();
  const mayAttach = useMayAttach();
  const now = useNow();
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
        <Toasts />
        {server !== null && (
          <span className="muted">
            {server.version} · {words.agentsConnectTo}{' '}
            <span className="mono">{server.debugger_address}</span>
          </span>
        )}
        <Button
          label={auditLog}
          icon={ScrollText}
          small
          tone="quiet"
          disabledReason={reasonAgainst('audit', session, null)}
          onClick={() => navigate({ view: 'audit' })}
        />
        <GuideLink />
        <SignedIn />
      </header>
      {connection === 'lost' && <ConnectionBanner attempt={1} ended={false} onRetry={() => void loadJobs()} />}
      <StorageBanner />
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
        {jobs !== null && <UnreadableJobs jobs={jobs} />}
        <Suspense fallback={null}>
          {mayAttach && <TrainingsList now={now} />}
          <RunsList now={now} />
        </Suspense>
      </main>
    </div>
  );
}
