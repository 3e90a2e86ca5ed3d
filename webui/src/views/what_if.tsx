// Repeats a hit in other ways in the paused process, and shows what the outcomes mean.

import { FlaskConical } from 'lucide-react';
import { useState } from 'react';
import { api } from '../api/client';
import type { Hit, WhatIf as Found } from '../api/types';
import { sentence } from '../base/format';
import { isRun } from '../base/run_id';
import { describe } from '../state/describe';
import { hitToBundle } from '../state/hits';
import { useJob } from '../state/job_store';
import { Button } from '../widgets/button';
import * as words from '../words/what_if';
import { useReasonAgainst } from './use_reason_against';
import './what_if.css';

type State = { kind: 'idle' } | { kind: 'asked' } | { kind: 'found'; found: Found } | { kind: 'failed'; text: string };

function Outcomes({ found }: { found: Found }) {
  return (
    <>
      <table className="what-if-table" aria-label={words.outcomes}>
        <tbody>
          {found.outcomes.map((each) => (
            <tr key={each.experiment}>
              <th scope="row">{each.title}</th>
              <td className={each.fails === false ? 'what-if-helps' : ''}>{words.fails(each.fails)}</td>
              <td className="muted">{each.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="what-if-conclusion">
        <strong>{sentence(found.conclusion)}</strong> <span className="muted">{words.level(found)}</span>
      </p>
    </>
  );
}

function Experiments({ job, hit }: { job: string; hit: Hit }) {
  const [state, setState] = useState<State>({ kind: 'idle' });
  const forbidden = useReasonAgainst('control');
  const ask = async (experiments: string[]) => {
    setState({ kind: 'asked' });
    try {
      setState({ kind: 'found', found: await api.whatIf(job, hit.id, experiments) });
    } catch (error) {
      setState({ kind: 'failed', text: describe(error) });
    }
  };
  return (
    <section className="what-if" aria-label={words.whatIf}>
      <Button
        label={words.whatIf}
        hint={words.whatIfHint}
        icon={FlaskConical}
        small
        pending={state.kind === 'asked'}
        disabledReason={forbidden}
        onClick={() => void ask([])}
      />
      <Button
        label={words.replayStep}
        hint={words.replayStepHint}
        small
        disabledReason={forbidden}
        onClick={() => void ask(['as_it_was'])}
      />
      {state.kind === 'found' && <Outcomes found={state.found} />}
      {state.kind === 'failed' && (
        <p role="alert" className="what-if-conclusion">
          {state.text}
        </p>
      )}
    </section>
  );
}

// Nothing if the job is not paused in the step of the hit, whose values are then gone.
export function WhatIf({ hit }: { hit: Hit }) {
  const job = useJob(({ id }) => id);
  const current = useJob(({ model }) => hitToBundle(model, `${hit.node}:${hit.slot}`, hit.rank));
  if (job === null || isRun(job) || current === null) return null;
  return <Experiments key={current.id} job={job} hit={current} />;
}
