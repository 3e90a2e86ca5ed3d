// Who the job is and where it stands.

import { ChevronRight, Command, Keyboard } from 'lucide-react';
import { lazy, Suspense } from 'react';
import type { Job, Rank } from '../api/types';
import { formatCount } from '../base/format';
import { useJob } from '../state/job_store';
import { navigate } from '../state/router';
import { revealNode } from '../state/scopes';
import { showOverlay, touch } from '../state/ui';
import { Button } from '../widgets/button';
import { CurrentArrow } from '../widgets/node_marks';
import { JobChip, StateChip } from '../widgets/state_chip';
import { Tooltip } from '../widgets/tooltip';
import { Brand } from './brand';
import { useJobContext } from './job_context';
import './top_bar.css';

const Ranks = lazy(async () => ({ default: (await import('./ranks')).Ranks }));

function deviceOf(rank: Rank): string {
  if (rank.device === '' || rank.device === 'cpu') return rank.device.toUpperCase();
  return `${rank.device}:${rank.device_id}`;
}

function Where({ job }: { job: Job }) {
  const { node } = job;
  return (
    <>
      <span className="top-fact">
        <span className="muted">Step</span>
        <span className="mono top-strong" data-testid="step">
          {formatCount(job.step)}
        </span>
      </span>
      {node ? (
        <span className="top-fact top-node">
          <CurrentArrow />
          <button
            type="button"
            className="link mono ellipsis"
            title={`${node}: show it`}
            data-testid="current-node"
            onClick={() => {
              touch();
              revealNode(node);
            }}
          >
            {node}
          </button>
        </span>
      ) : null}
    </>
  );
}

function Process({ job }: { job: Job }) {
  const { route } = useJobContext();
  const rank = job.ranks.find((other) => other.rank === (route?.rank ?? 0)) ?? job.ranks[0];
  if (rank === undefined) return null;
  const details = `Process ${rank.pid} on ${rank.host}: ${job.framework} ${job.framework_version}, job ${job.id}, agent at ${rank.peer}`;
  return (
    <Tooltip text={details}>
      <span className="top-process">
        <span>{deviceOf(rank)}</span>
        <span className="mono">
          {rank.pid}@{rank.host}
        </span>
      </span>
    </Tooltip>
  );
}

const LINK_WORDS = { connecting: 'Connecting', live: 'Live', lost: 'Offline' } as const;

const LINK_HINTS = {
  connecting: 'The page is connecting to the server.',
  live: 'The page is connected to the server.',
  lost: 'The page has lost the server and looks for it again.',
} as const;

export function TopBar() {
  const job = useJob((state) => state.model.info);
  const connection = useJob((state) => state.connection);
  const id = useJob((state) => state.id);
  return (
    <div className="top">
      <button type="button" className="top-home" onClick={() => navigate({ view: 'jobs' })}>
        <Brand />
        <span className="visually-hidden">: all jobs</span>
      </button>
      <ChevronRight aria-hidden size={14} className="top-chevron" />
      <h1 className="top-name ellipsis">{job?.name ?? id}</h1>
      <span role="status" aria-label="Job state" className="top-state">
        {job === null ? (
          <StateChip state="connecting" />
        ) : (
          <JobChip job={job} />
        )}
      </span>
      <Suspense>{job !== null && job.world_size > 1 && <Ranks job={job} />}</Suspense>
      {job !== null && <Where job={job} />}
      <span className="grow" />
      <Button
        label="Commands"
        icon={Command}
        iconOnly
        small
        tone="quiet"
        shortcut="Ctrl+K"
        onClick={() => showOverlay('palette')}
      />
      <Button
        label="Keys"
        icon={Keyboard}
        iconOnly
        small
        tone="quiet"
        shortcut="?"
        onClick={() => showOverlay('keys')}
      />
      {job !== null && <Process job={job} />}
      <Tooltip text={LINK_HINTS[connection]}>
        <span className={`top-link top-link-${connection}`}>{LINK_WORDS[connection]}</span>
      </Tooltip>
    </div>
  );
}
