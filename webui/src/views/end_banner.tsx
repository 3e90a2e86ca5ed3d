// How a job ended, where it did.

import { CircleAlert, Flag } from 'lucide-react';
import { useState } from 'react';
import type { Job } from '../api/types';
import { plural } from '../base/format';
import { isOpenedModel } from '../state/job';
import { useJob } from '../state/job_store';
import { revealNode } from '../state/scopes';
import { hasFailed } from '../state/words';

function textOf(job: Job): { strong: string; rest: string } {
  if (isOpenedModel(job)) {
    return { strong: 'A model that was opened.', rest: 'It was not run: its graph is there, but no values.' };
  }
  const after = `after ${plural(job.step, 'step')}`;
  const code = job.exit_code === null || job.exit_code === undefined ? '' : `, exit code ${job.exit_code}`;
  if (job.state === 'lost') {
    return {
      strong: 'The job is lost.',
      rest: `Its process no longer answers (last seen ${after}). It comes back by itself if the agent reconnects.`,
    };
  }
  if (job.exception) {
    return { strong: `The job failed ${after}.`, rest: `${job.exception.type}: ${job.exception.message}` };
  }
  const verb = job.state === 'terminated' ? 'was terminated' : hasFailed(job) ? 'failed' : 'has finished';
  return {
    strong: `The job ${verb} ${after}${code}.`,
    rest: 'Graph, watchpoints and hits stay; values of tensors are gone.',
  };
}

export function EndBanner() {
  const job = useJob((state) => state.model.info);
  const [open, setOpen] = useState(false);
  if (job === null || !['finished', 'terminated', 'lost'].includes(job.state)) return null;
  const { strong, rest } = textOf(job);
  const bad = job.state === 'lost' || hasFailed(job);
  const node = job.exception?.node;
  const traceback = job.exception?.traceback ?? '';
  const Icon = bad ? CircleAlert : Flag;
  return (
    <>
      <div className={`banner${bad ? '' : ' banner-over'}`} role="note" aria-label="How the job ended">
        <Icon aria-hidden size={15} />
        <span>
          <strong>{strong}</strong> {rest}
        </span>
        {node ? (
          <button type="button" className="banner-button" onClick={() => revealNode(node)}>
            Show node
          </button>
        ) : null}
        {traceback !== '' && (
          <button type="button" className="banner-button" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? 'Hide traceback' : 'Show traceback'}
          </button>
        )}
      </div>
      {open && traceback !== '' && (
        <pre className="banner-traceback mono" aria-label="Traceback" tabIndex={0}>
          {traceback}
        </pre>
      )}
    </>
  );
}
