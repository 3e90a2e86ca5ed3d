// Right, above: watchpoints.

import { Eye, Plus, Trash2 } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Watchpoint } from '../api/types';
import { compactCount, plural } from '../base/format';
import { countByWatchpoint } from '../state/hit_index';
import { useJob } from '../state/job_store';
import { closeWatchForm, openWatchForm, useUi } from '../state/ui';
import { conditionText, removeWatchpoint, switchWatchpoint, targetText } from '../state/watchpoints';
import { Button } from '../widgets/button';
import { HitBadge } from '../widgets/node_marks';
import { Notice } from '../widgets/notice';
import { Panel } from '../widgets/panel';
import { useJobContext } from './job_context';
import { WatchForm } from './watch_form';
import './watch_panel.css';

const PAUSE_WORDS = {
  node: 'stops at the node',
  step: 'stops at the step’s end',
  none: 'records only',
} as const;

interface RowProps {
  watchpoint: Watchpoint;
  hits: number;
  stopped: boolean;
}

function WatchRow({ watchpoint, hits, stopped }: RowProps) {
  const { id, condition, enabled } = watchpoint;
  const text = conditionText(condition.id, condition.params);
  const target = targetText(watchpoint);
  // What was asked for, until the server has answered.
  const [wanted, setWanted] = useState<boolean | null>(null);
  const change = async (on: boolean) => {
    setWanted(on);
    await switchWatchpoint(watchpoint, on);
    setWanted(null);
  };
  return (
    <li className={`watch-row${enabled ? '' : ' watch-off'}${stopped ? ' watch-stopped' : ''}`}>
      <input
        type="checkbox"
        className="switch"
        role="switch"
        checked={wanted ?? enabled}
        aria-busy={wanted !== null || undefined}
        aria-label={`Watchpoint ${id}: ${text} on ${target}`}
        onChange={(event) => void change(event.target.checked)}
      />
      <span className="watch-id mono">{id}</span>
      <div className="grow">
        <div className="watch-line">
          <span className="watch-condition mono">{text}</span>
          <span className="muted">on</span>
          <span className="mono ellipsis" title={target}>
            {target}
          </span>
        </div>
        <div className="watch-detail">
          {watchpoint.error ? (
            <span className="watch-error">{watchpoint.error}</span>
          ) : (
            `${plural(watchpoint.node_count, 'node')} · ${PAUSE_WORDS[watchpoint.pause]}`
          )}
        </div>
      </div>
      {hits > 0 && <HitBadge count={hits} />}
      <Button
        label={`Delete watchpoint ${id}`}
        icon={Trash2}
        iconOnly
        small
        tone="quiet"
        onClick={() => void removeWatchpoint(watchpoint)}
      />
    </li>
  );
}

export function WatchPanel() {
  const { route } = useJobContext();
  const watchpoints = useJob((state) => state.model.watchpoints);
  const stoppedBy = useJob((state) =>
    state.model.info?.state === 'paused' ? state.model.info.stopped_by : undefined,
  );
  const hits = useJob((state) => state.model.hits);
  const counts = useMemo(() => countByWatchpoint(hits), [hits]);
  const known = useJob((state) => state.model.known);
  const form = useUi((state) => state.watch_form);
  return (
    <Panel
      title="Watchpoints"
      count={watchpoints.length > 0 ? compactCount(watchpoints.length) : undefined}
      actions={
        <Button
          label="Add watchpoint"
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
        {form !== null && <WatchForm key={form.target ?? ''} target={form.target} />}
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
        {watchpoints.length === 0 && form === null && known && (
          <Notice icon={Eye} title="No watchpoints">
            <p>A watchpoint stops the job at the first node whose output meets its condition.</p>
            <Button label="Add watchpoint" icon={Plus} small onClick={() => openWatchForm(null)} />
          </Notice>
        )}
      </div>
    </Panel>
  );
}
