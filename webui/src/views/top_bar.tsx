// The job's name, state and current position, and the connection to the server.

import { ChevronRight, Command, Keyboard } from 'lucide-react';
import { lazy, Suspense } from 'react';
import type { Job, Rank } from '../api/types';
import { formatCount } from '../base/format';
import { isRun } from '../base/run_id';
import { isOver } from '../state/job';
import { useJob } from '../state/job_store';
import { useRun } from '../state/run_store';
import { navigate } from '../state/router';
import { revealNode } from '../state/scopes';
import { showOverlay, touch } from '../state/ui';
import { Button } from '../widgets/button';
import { CurrentArrow } from '../widgets/node_marks';
import { JobChip, StateChip } from '../widgets/state_chip';
import { Toasts } from '../widgets/toasts';
import { Tooltip } from '../widgets/tooltip';
import { TrustTags } from '../widgets/trust_tags';
import * as words from '../words/job';
import * as modelWords from '../words/model';
import * as runWords from '../words/run';
import { Brand } from './brand';
import { ControllerChip } from './controller_chip';
import { useJobContext } from './job_context';
import { RecordingChip } from './recording_chip';
import { useOpened } from './use_opened';
import './top_bar.css';

const Ranks = lazy(async () => ({ default: (await import('./ranks')).Ranks }));
const DetachButton = lazy(async () => ({ default: (await import('./detach_button')).DetachButton }));

function deviceOf(rank: Rank): string {
  if (rank.device === '' || rank.device === 'cpu') return rank.device.toUpperCase();
  return `${rank.device}:${rank.device_id}`;
}

function Position({ job }: { job: Job }) {
  const { node } = job;
  return (
    <>
      <span className="top-fact">
        <span className="muted">{words.step}</span>
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
            title={words.goToNode(node)}
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
  const details = words.processDetails(rank, job);
  return (
    <Tooltip text={details}>
      <span className="top-process">
        <span>{deviceOf(rank)}</span>
        <span className="mono">{words.processName(rank)}</span>
      </span>
    </Tooltip>
  );
}

// How a recorded run ended, or that it is being recorded.
function RunChip() {
  const run = useRun((state) => state.run);
  if (run === null) return <StateChip state="connecting" />;
  const text = run.ended === null ? runWords.recording : runWords.endNames[run.ended];
  const damage = run.damage.map(({ file, reason }) => `${file}: ${reason}`).join('\n');
  return (
    <>
      <span className="state-chip state-finished">{text}</span>
      {damage !== '' && (
        <span className="tag" title={damage}>
          {runWords.damagedFiles(run.damage.length)}
        </span>
      )}
    </>
  );
}

export function TopBar() {
  const job = useJob((state) => state.model.info);
  const connection = useJob((state) => state.connection);
  const id = useJob((state) => state.id);
  const opened = useOpened();
  return (
    <div className="top">
      <button type="button" className="top-home" onClick={() => navigate({ view: 'jobs' })}>
        <Brand />
        <span className="visually-hidden">{words.homeSuffix}</span>
      </button>
      <ChevronRight aria-hidden size={14} className="top-chevron" />
      <h1 className="top-name ellipsis">{job?.name ?? id}</h1>
      <span role="status" aria-label={words.jobState} className="top-state">
        {opened ? (
          <span className="state-chip state-finished" title={modelWords.notRunHint}>
            {modelWords.notRun}
          </span>
        ) : id !== null && isRun(id) ? (
          <RunChip />
        ) : job === null ? (
          <StateChip state="connecting" />
        ) : (
          <JobChip job={job} />
        )}
      </span>
      {job !== null && <TrustTags job={job} />}
      <Suspense>{job !== null && job.world_size > 1 && <Ranks job={job} />}</Suspense>
      {job !== null && !opened && <Position job={job} />}
      {job !== null && !opened && <ControllerChip job={job} />}
      {job !== null && !opened && !isRun(job.id) && !isOver(job) && <RecordingChip job={job} />}
      <Suspense>{job !== null && !opened && !isRun(job.id) && !isOver(job) && <DetachButton job={job} />}</Suspense>
      <Toasts />
      <Button
        label={words.commands}
        icon={Command}
        iconOnly
        small
        tone="quiet"
        shortcut="Ctrl+K"
        onClick={() => showOverlay('palette')}
      />
      <Button
        label={words.keyboardShortcuts}
        icon={Keyboard}
        iconOnly
        small
        tone="quiet"
        shortcut="?"
        onClick={() => showOverlay('keys')}
      />
      {job !== null && !opened && <Process job={job} />}
      <Tooltip text={words.connectionHints[connection]}>
        <span className={`top-link top-link-${connection}`}>{words.connectionNames[connection]}</span>
      </Tooltip>
    </div>
  );
}
