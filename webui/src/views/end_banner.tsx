// A banner for a job that ended, or that an exception is about to end.

import { CircleAlert, Flag } from 'lucide-react';
import { useState } from 'react';
import type { Job } from '../api/types';
import { isOpenedModel } from '../state/job';
import { useJob } from '../state/job_store';
import { revealNode } from '../state/scopes';
import { hasFailed, isPausedAtException } from '../state/words';
import * as counts from '../words/counts';
import * as words from '../words/job';
import { Traceback } from './traceback';

function textOf(job: Job): { strong: string; rest: string } {
  const when = words.after(counts.steps(job.step));
  if (isPausedAtException(job)) {
    return { strong: words.pausedAtException, rest: `${job.exception?.type}: ${job.exception?.message}` };
  }
  if (job.state === 'lost') {
    return { strong: words.jobLost, rest: words.processStoppedResponding(when) };
  }
  const verbs = words.endVerbs;
  if (job.exception) {
    const { type, message } = job.exception;
    return { strong: words.jobEnded(verbs.failed, when, ''), rest: `${type}: ${message}` };
  }
  const verb = job.state === 'terminated' ? verbs.terminated : hasFailed(job) ? verbs.failed : verbs.finished;
  const code = job.exit_code === null || job.exit_code === undefined ? '' : `, ${words.exitCode(job.exit_code)}`;
  return { strong: words.jobEnded(verb, when, code), rest: words.afterTheEnd };
}

export function EndBanner() {
  const job = useJob((state) => state.model.info);
  const [open, setOpen] = useState(false);
  if (job === null || isOpenedModel(job) || !(isPausedAtException(job) || ['finished', 'terminated', 'lost'].includes(job.state))) return null;
  const { strong, rest } = textOf(job);
  const bad = job.state === 'lost' || isPausedAtException(job) || hasFailed(job);
  const node = job.exception?.node;
  const traceback = job.exception?.traceback ?? '';
  const Icon = bad ? CircleAlert : Flag;
  return (
    <>
      <div className={`banner${bad ? '' : ' banner-over'}`} role="note" aria-label={words.howJobEnded}>
        <Icon aria-hidden size={15} />
        <span>
          <strong>{strong}</strong> {rest}
        </span>
        {node ? (
          <button type="button" className="banner-button" onClick={() => revealNode(node)}>
            {words.showNode}
          </button>
        ) : null}
        {traceback !== '' && (
          <button type="button" className="banner-button" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? words.hideTraceback : words.showTraceback}
          </button>
        )}
      </div>
      {open && traceback !== '' && <Traceback text={traceback} />}
    </>
  );
}
