// The findings of rules, newest last. A click shows the tensor.

import { formatCount, sentence } from '../base/format';
import { splitTensor } from '../base/names';
import { isRun } from '../base/run_id';
import type { Finding } from '../api/types';
import { useFindings } from '../state/findings';
import { useJob } from '../state/job_store';
import { patchRoute } from '../state/router';
import { revealNode } from '../state/scopes';
import { touch } from '../state/ui';
import { FullName } from '../widgets/full_name';
import { Prose } from '../widgets/prose';
import * as words from '../words/findings';
import './finding_list.css';

// A live job shows its present values; a recorded run those of the step.
function go({ tensor, step, rank }: Finding, job: string | null): void {
  touch();
  const { node, slot } = splitTensor(tensor ?? '');
  revealNode(node);
  const recorded = job !== null && isRun(job);
  patchRoute({ slot: String(slot), ...(recorded ? { step: String(step) } : {}), ...(rank === null ? {} : { rank }) });
}

function Row({ finding, several }: { finding: Finding; several: boolean }) {
  const job = useJob((state) => state.id);
  const { rule, step, rank, tensor, message } = finding;
  return (
    <li className="finding" title={sentence(message)}>
      <div className="finding-head">
        <strong className="ellipsis">{rule}</strong>
        <span className="mono muted">{words.stepAt(step, rank, several)}</span>
      </div>
      {tensor !== null && (
        <button type="button" className="link finding-tensor" onClick={() => go(finding, job)}>
          <FullName name={splitTensor(tensor).node} />
        </button>
      )}
      <div className="muted finding-message">
        <Prose text={sentence(message)} />
      </div>
    </li>
  );
}

export function FindingList() {
  const { findings, total } = useFindings();
  const several = useJob(({ model }) => (model.info?.world_size ?? 1) > 1);
  return (
    <>
      {findings.length < total && <p className="muted finding-missing">{words.newest(findings.length, total)}</p>}
      <ol className="findings" aria-label={`${formatCount(total)} ${words.findings}`} tabIndex={0}>
        {findings.map((finding, i) => (
          <Row key={total - findings.length + i} finding={finding} several={several} />
        ))}
      </ol>
    </>
  );
}
