// Checks of conditions over a recorded run, in the place of watchpoints.

import { Plus, SearchCheck, Trash2 } from 'lucide-react';
import { lazy, Suspense } from 'react';
import type { CheckHit } from '../api/types';
import { goToTensor, removeCheck, startCheck, useChecks, type RunCheck } from '../state/checks';
import { targetText, useConditionText } from '../state/condition_text';
import { useJob } from '../state/job_store';
import { closeWatchForm, openWatchForm, useUi } from '../state/ui';
import { Button } from '../widgets/button';
import { FullName } from '../widgets/full_name';
import { Notice } from '../widgets/notice';
import { Panel } from '../widgets/panel';
import { loading } from '../words/common';
import * as words from '../words/run';
import { useJobContext } from './job_context';
import { RunCompare } from './run_compare';
import './run_checks.css';

const WatchForm = lazy(async () => ({ default: (await import('./watch_form')).WatchForm }));

// Further hits are only counted.
const MAX_SHOWN = 200;

function HitRow({ hit, several }: { hit: CheckHit; several: boolean }) {
  const { actualText } = useConditionText();
  return (
    <li>
      <button type="button" className="check-hit" title={hit.node} onClick={() => goToTensor(hit)}>
        <span className="mono check-step">{words.hitAt(hit.step, hit.rank, several)}</span>
        <FullName name={hit.node} />
        <span className="muted mono ellipsis">{actualText(hit)}</span>
        {hit.evidence === 'tensor' && <span className="tag">{words.onValues}</span>}
      </button>
    </li>
  );
}

function CheckView({ check }: { check: RunCheck }) {
  const { conditionText } = useConditionText();
  const several = useJob(({ model }) => (model.info?.ranks.length ?? 1) > 1);
  const { spec, report } = check;
  const running = report === null || report.state === 'running';
  return (
    <li className="check" aria-busy={running}>
      <div className="check-head">
        <strong className="ellipsis">{conditionText(spec.condition.id, spec.condition.params)}</strong>
        <span className="muted ellipsis">{targetText(spec)}</span>
        <span className="grow" />
        <Button label={words.removeCheck} icon={Trash2} iconOnly small tone="quiet" onClick={() => void removeCheck(check.id)} />
      </div>
      {report !== null && running && (
        <progress max={Math.max(1, report.total)} value={report.done} aria-label={words.progress(report.done, report.total)} />
      )}
      {report !== null && (
        <p className="check-result" role="status">
          {words.hitsFound(report.hit_count)}
          {report.not_recorded > 0 && (
            <span className="muted" title={words.notRecordedHint}>
              {' '}
              · {words.notRecorded(report.not_recorded)}
            </span>
          )}
        </p>
      )}
      {report !== null && report.hits.length > 0 && (
        <ul aria-label={words.firstHits(Math.min(report.hits.length, MAX_SHOWN))}>
          {report.hits.slice(0, MAX_SHOWN).map((hit) => (
            <HitRow key={hit.id} hit={hit} several={several} />
          ))}
        </ul>
      )}
    </li>
  );
}

export function RunChecks() {
  const { route } = useJobContext();
  const checks = useChecks((state) => state.checks);
  const form = useUi((state) => state.watch_form);
  return (
    <Panel
      title={words.checks}
      count={checks.length > 0 ? String(checks.length) : undefined}
      actions={
        <Button
          label={words.addCheck}
          icon={Plus}
          iconOnly
          small
          tone="quiet"
          pressed={form !== null}
          onClick={() => (form === null ? openWatchForm(route?.node ?? null) : closeWatchForm())}
        />
      }
    >
      <div className="watch-list">
        {form !== null && (
          <Suspense fallback={<Notice title={loading} busy />}>
            <WatchForm form={form} onCheck={startCheck} />
          </Suspense>
        )}
        {checks.length > 0 && (
          <ul>
            {checks.map((check) => (
              <CheckView key={check.id} check={check} />
            ))}
          </ul>
        )}
        <RunCompare />
        {checks.length === 0 && form === null && (
          <Notice icon={SearchCheck} title={words.noChecks}>
            <p>{words.whatChecksDo}</p>
            <Button label={words.addCheck} icon={Plus} small onClick={() => openWatchForm(route?.node ?? null)} />
          </Notice>
        )}
      </div>
    </Panel>
  );
}
