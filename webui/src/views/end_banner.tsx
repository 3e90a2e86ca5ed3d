// A banner for a job that ended, or that an exception is about to end.

import { CircleAlert, Flag, Square } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import type { Job } from '../api/types';
import { exceptionLine } from '../base/exception';
import { useAuth } from '../state/auth';
import { availability } from '../state/controls';
import { isOpenedModel, isOver } from '../state/job';
import { sendCommand, useJob } from '../state/job_store';
import { useMayAttach } from '../state/may_attach';
import { patchRoute } from '../state/router';
import { revealNode } from '../state/scopes';
import { touch } from '../state/ui';
import { hasFailed, isPausedAtException, rankOfException } from '../state/words';
import { Button } from '../widgets/button';
import * as counts from '../words/counts';
import * as words from '../words/job';

// The server may have gone with the job.
const Traceback = lazy(async () => {
  try {
    return { default: (await import('./traceback')).Traceback };
  } catch {
    return { default: ({ text }: { text: string }) => <pre aria-label={words.traceback}>{text}</pre> };
  }
});

const AttachAgain = lazy(async () => {
  try {
    return { default: (await import('./attach_again')).AttachAgain };
  } catch {
    return { default: () => null };
  }
});

function showFailure(node: string, rank: number | null): void {
  touch();
  revealNode(node);
  if (rank !== null) patchRoute({ rank });
}

function textOf(job: Job): { strong: string; rest: string } {
  const when = words.after(counts.steps(job.step));
  if (isPausedAtException(job)) {
    return { strong: words.pausedAtException(rankOfException(job)), rest: job.exception ? exceptionLine(job.exception) : '' };
  }
  if (job.state === 'lost') {
    return { strong: words.jobLost, rest: words.processStoppedResponding(when) };
  }
  const verbs = words.endVerbs;
  if (job.exception) {
    const verb = job.exception.type === 'KeyboardInterrupt' ? verbs.interrupted : verbs.failed;
    return { strong: words.jobEnded(verb, when, ''), rest: exceptionLine(job.exception) };
  }
  const verb = job.state === 'terminated' ? verbs.terminated : hasFailed(job) ? verbs.failed : verbs.finished;
  const code = job.exit_code === null || job.exit_code === undefined ? '' : `, ${words.exitCode(job.exit_code)}`;
  return { strong: words.jobEnded(verb, when, code), rest: words.afterTheEnd };
}

// Lets the exception end the program, with its own exit code and after its handlers have run.
function StopJob({ job }: { job: Job }) {
  const live = useJob((state) => state.connection === 'live');
  const pending = useJob((state) => state.pending);
  const session = useAuth((state) => state.session);
  return (
    <Button
      label={words.stopJob}
      hint={words.stopJobHint}
      icon={Square}
      small
      tone="danger"
      pending={pending?.command === 'continue'}
      disabledReason={availability('continue', job, live, pending, session).reason}
      onClick={() => void sendCommand('continue')}
    />
  );
}

export function EndBanner() {
  const job = useJob((state) => state.model.info);
  const mayAttach = useMayAttach();
  const [opened, setOpen] = useState<boolean | null>(null);
  if (job === null || isOpenedModel(job) || !(isPausedAtException(job) || ['finished', 'terminated', 'lost'].includes(job.state))) return null;
  const { strong, rest } = textOf(job);
  const bad = job.state === 'lost' || isPausedAtException(job) || hasFailed(job);
  const node = job.exception?.node;
  const traceback = job.exception?.traceback ?? '';
  const paused = isPausedAtException(job);
  // Where no op has failed, the traceback is all that there is to look at.
  const open = opened ?? (paused && !node);
  const Icon = bad ? CircleAlert : Flag;
  return (
    <>
      <div className={`banner${bad ? '' : ' banner-over'}`} role="note" aria-label={words.howJobEnded}>
        <Icon aria-hidden size={15} />
        <span>
          <strong>{strong}</strong> {rest}
        </span>
        <span className="grow" />
        {mayAttach && isOver(job) && (
          <Suspense fallback={null}>
            <AttachAgain job={job} />
          </Suspense>
        )}
        {node ? (
          <button type="button" className="banner-button" onClick={() => showFailure(node, rankOfException(job))}>
            {words.showNode}
          </button>
        ) : null}
        {traceback !== '' && (
          <button type="button" className="banner-button" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? words.hideTraceback : words.showTraceback}
          </button>
        )}
        {paused && <StopJob job={job} />}
      </div>
      {open && traceback !== '' && (
        <div className="traceback-place-holder">
          <Suspense fallback={null}>
            <Traceback text={traceback} />
          </Suspense>
        </div>
      )}
    </>
  );
}
