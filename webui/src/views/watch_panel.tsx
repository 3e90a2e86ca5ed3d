// The list of watchpoints, at the upper right.

import { Copy, Eye, Pencil, Plus, Sparkles, Trash2 } from 'lucide-react';
import { lazy, Suspense, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import type { Job, Watchpoint } from '../api/types';
import { compactCount } from '../base/format';
import { targetOf, targetText, useConditionText } from '../state/condition_text';
import { countByWatchpoint } from '../state/hit_index';
import { isOver } from '../state/job';
import { isPausedAtException } from '../state/words';
import { useJob } from '../state/job_store';
import { closeWatchForm, copyWatchpoint, editWatchpoint, openWatchForm, useUi } from '../state/ui';
import { canTestTraining } from '../state/frameworks';
import { addRecommended, mutedUntil, removeWatchpoint, switchWatchpoint, watchForOverflow, watchTraining } from '../state/watchpoints';
import { Button } from '../widgets/button';
import { HitBadge } from '../widgets/node_marks';
import { Notice } from '../widgets/notice';
import { Panel } from '../widgets/panel';
import { Prose } from '../widgets/prose';
import { loading } from '../words/common';
import { nodes } from '../words/counts';
import * as words from '../words/watch';
import { useJobContext } from './job_context';
import { useReasonAgainst, useReasonAgainstWatching } from './use_reason_against';
import './watch_panel.css';

const WatchForm = lazy(async () => ({ default: (await import('./watch_form')).WatchForm }));


interface RowProps {
  watchpoint: Watchpoint;
  hits: number;
  stopped: boolean;
}

function RowActions({ watchpoint, forbidden }: { watchpoint: Watchpoint; forbidden: string }) {
  const { id } = watchpoint;
  const actions = [
    { label: words.editWatchpoint(id), icon: Pencil, run: () => editWatchpoint(watchpoint) },
    { label: words.copyWatchpoint(id), icon: Copy, run: () => copyWatchpoint(watchpoint) },
    { label: words.deleteWatchpoint(id), icon: Trash2, run: () => void removeWatchpoint(watchpoint) },
  ];
  return (
    <span className="watch-actions">
      {actions.map(({ label, icon, run }) => (
        <Button key={label} label={label} icon={icon} iconOnly small tone="quiet" disabledReason={forbidden} onClick={run} />
      ))}
    </span>
  );
}

function WatchRow({ watchpoint, hits, stopped }: RowProps) {
  const { id, condition, enabled } = watchpoint;
  const { conditionText } = useConditionText();
  const text = conditionText(condition.id, condition.params);
  const target = targetText(watchpoint);
  const forbidden = useReasonAgainst('watch');
  const ended = useJob(({ model }) => isOver(model.info));
  const begun = useJob(({ model }) => (model.info?.step ?? 0) > 0);
  const until = useJob(({ model }) => mutedUntil(watchpoint, model.info?.step ?? 0));
  const none = begun ? words.noMatchingNodes : words.noNodesYet;
  const covered = watchpoint.node_count === 0 ? none : nodes(watchpoint.node_count);
  // The requested state, until the server has answered.
  const [wanted, setWanted] = useState<boolean | null>(null);
  const change = async (on: boolean) => {
    setWanted(on);
    await switchWatchpoint(watchpoint, on);
    setWanted(null);
  };
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    // jsdom has no layout.
    if (stopped) row.current?.scrollIntoView?.({ block: 'nearest' });
  }, [stopped]);
  return (
    <li
      ref={row}
      className={`watch-row${enabled ? '' : ' watch-off'}${stopped ? ' watch-stopped' : ''}`}
      onDoubleClick={() => forbidden === '' && editWatchpoint(watchpoint)}
    >
      <input
        type="checkbox"
        className="switch"
        id={`watchpoint-${id}`}
        role="switch"
        checked={wanted ?? enabled}
        disabled={forbidden !== ''}
        title={forbidden || undefined}
        aria-busy={wanted !== null || undefined}
        aria-label={words.watchpointName(id, text, target)}
        onChange={(event) => void change(event.target.checked)}
        onDoubleClick={(event) => event.stopPropagation()}
      />
      <span className="watch-id mono">{id}</span>
      <div className="grow">
        <div className="watch-condition" title={`${text} (${condition.params['expression'] ?? condition.id})`}>
          <Prose text={text} />
        </div>
        <div className="watch-detail ellipsis">
          {watchpoint.error ? (
            <span className="watch-error">{watchpoint.error}</span>
          ) : (
            <>
              {until === null ? (
                <span title={words.pauseHints[watchpoint.pause]}>{words.pauseNames[watchpoint.pause]}</span>
              ) : (
                <span title={words.mutedHint}>{words.mutedUntil(until)}</span>
              )}
              {targetOf(watchpoint.condition.id) === 'training' ? ' · ' : ` · ${covered} · `}
              <span className="mono" title={target}>
                {target}
              </span>
            </>
          )}
        </div>
      </div>
      {hits > 0 && <HitBadge count={hits} />}
      {!ended && <RowActions watchpoint={watchpoint} forbidden={forbidden} />}
    </li>
  );
}

function NoWatchpoints({ offered, ended }: { offered: boolean; ended: boolean }) {
  const unavailable = useReasonAgainstWatching();
  const testsTraining = useJob(({ model }) => canTestTraining(model.info?.framework));
  if (ended) return <Notice icon={Eye} title={words.noWatchpoints}>{words.noneSet}</Notice>;
  return (
    <Notice icon={Eye} title={words.noWatchpoints}>
      <p>{words.whatWatchpointsDo}</p>
      <span className="watch-first">
        {offered && (
          <Button
            label={words.addRecommended}
            icon={Sparkles}
            small
            tone="primary"
            hint={words.recommendedHint}
            disabledReason={unavailable}
            onClick={() => void addRecommended()}
          />
        )}
        <Button
          label={words.stopAtFirstNan}
          small
          hint={words.stopAtFirstNanHint}
          disabledReason={unavailable}
          onClick={() => void watchForOverflow({ kind: 'everything' })}
        />
        {testsTraining && (
          <Button
            label={words.stopIfNotLearning}
            small
            hint={words.stopIfNotLearningHint}
            disabledReason={unavailable}
            onClick={() => void watchTraining()}
          />
        )}
        <Button label={words.addWatchpoint} icon={Plus} small disabledReason={unavailable} onClick={() => openWatchForm(null)} />
      </span>
    </Notice>
  );
}

// Whether the job's only process has stopped at an exception: a watchpoint would have nothing to watch.
function onlyEnds(job: Job | null): boolean {
  return job !== null && job.world_size === 1 && isPausedAtException(job);
}

export function WatchPanel() {
  const { route } = useJobContext();
  const watchpoints = useJob((state) => state.model.watchpoints);
  const stoppedBy = useJob((state) =>
    state.model.info?.state === 'paused' ? state.model.info.stopped_by : undefined,
  );
  const hits = useDeferredValue(useJob((state) => state.model.hits));
  const counts = useMemo(() => countByWatchpoint(hits), [hits]);
  const known = useJob((state) => state.model.known);
  const ended = useJob(({ model }) => isOver(model.info) || onlyEnds(model.info));
  const offered = useJob(({ model }) => model.info?.recommended_offered === true) && !ended;
  const form = useUi((state) => state.watch_form);
  const unavailable = useReasonAgainstWatching();
  return (
    <Panel
      title={words.watchpoints}
      count={watchpoints.length > 0 ? compactCount(watchpoints.length) : undefined}
      actions={
        <>
          {offered && watchpoints.length > 0 && (
            <Button
              label={words.addRecommended}
              icon={Sparkles}
              iconOnly
              small
              tone="quiet"
              disabledReason={unavailable}
              onClick={() => void addRecommended()}
            />
          )}
          {!ended && (
            <Button
              label={words.addWatchpoint}
              icon={Plus}
              iconOnly
              small
              tone="quiet"
              pressed={form !== null}
              disabledReason={unavailable}
              onClick={() => (form === null ? openWatchForm(route?.node ?? null) : closeWatchForm())}
            />
          )}
        </>
      }
    >
      <div className="watch-list">
        {form !== null && (
          <Suspense fallback={<Notice title={loading} busy />}>
            <WatchForm key={`${form.target} ${form.from?.id} ${form.edit}`} form={form} />
          </Suspense>
        )}
        {watchpoints.length > 0 && (
          <ul>
            {watchpoints.map((watchpoint) => (
              <WatchRow
                key={watchpoint.id}
                watchpoint={watchpoint}
                hits={Math.max(watchpoint.hit_count, counts.get(watchpoint.id) ?? 0)}
                stopped={stoppedBy?.includes(watchpoint.id) ?? false}
              />
            ))}
          </ul>
        )}
        {watchpoints.length === 0 && form === null && known && <NoWatchpoints offered={offered} ended={ended} />}
      </div>
    </Panel>
  );
}
