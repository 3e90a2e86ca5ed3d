// The trainings that run on the server's machine, below the list of jobs.

import { Plug, RotateCw, Unplug } from 'lucide-react';
import { useState } from 'react';
import type { Training } from '../api/types';
import { describe } from '../state/describe';
import { formatRoute, jobRoute } from '../state/route';
import { attachTo, detachFrom, useTrainings } from '../state/trainings';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { formatAge } from '../words/age';
import { tryAgain } from '../words/common';
import * as words from '../words/trainings';

interface RowProps {
  training: Training;
  now: number;
  severalRanks: boolean;
  onChanged: () => void;
}

function Debugged({ training: { job, server } }: { training: Training }) {
  if (job === null) return <span className="muted">{words.notDebugged}</span>;
  if (server !== null) return <span className="muted">{words.elsewhere(server)}</span>;
  return (
    <a className="mono" href={formatRoute({ view: 'job', route: jobRoute(job) })}>
      {job}
    </a>
  );
}

function TrainingRow({ training, now, severalRanks, onChanged }: RowProps) {
  const { pid, script, job, server } = training;
  const [pending, setPending] = useState(false);
  const run = async (action: Promise<void>) => {
    setPending(true);
    await action;
    setPending(false);
    onChanged();
  };
  return (
    <tr>
      <td className="mono">{pid}</td>
      <td className="mono">{script}</td>
      {severalRanks && <td className="number mono">{training.rank ?? '–'}</td>}
      <td>
        {training.framework} <span className="muted">{training.framework_version}</span>
      </td>
      <td className="muted" title={training.started_at}>
        {formatAge(training.started_at, now)}
      </td>
      <td>
        <Debugged training={training} />
      </td>
      <td className="number">
        {job === null && (
          <Button
            label={words.attach}
            name={words.attachTo(script, pid)}
            hint={words.attachHint}
            icon={Plug}
            small
            pending={pending}
            onClick={() => void run(attachTo(training))}
          />
        )}
        {job !== null && server === null && (
          <Button
            label={words.detach}
            name={words.detachFrom(script, pid)}
            hint={words.detachHint}
            icon={Unplug}
            small
            pending={pending}
            onClick={() => void run(detachFrom(script, [pid]))}
          />
        )}
      </td>
    </tr>
  );
}

function TrainingsTable({ rows, now, onChanged }: { rows: readonly Training[]; now: number; onChanged: () => void }) {
  const severalRanks = rows.some(({ rank }) => rank !== null);
  return (
    <table className="jobs-table" aria-label={words.trainings}>
      <thead>
        <tr>
          <th>{words.columns.process}</th>
          <th>{words.columns.script}</th>
          {severalRanks && <th className="number">{words.columns.rank}</th>}
          <th>{words.columns.framework}</th>
          <th>{words.columns.started}</th>
          <th>{words.columns.debugged}</th>
          <th>
            <span className="visually-hidden">{words.columns.actions}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((training) => (
          <TrainingRow key={training.pid} training={training} now={now} severalRanks={severalRanks} onChanged={onChanged} />
        ))}
      </tbody>
    </table>
  );
}

export function TrainingsList({ now }: { now: number }) {
  const { data, error, isFetching, refetch } = useTrainings();
  const rows = data?.trainings ?? [];
  return (
    <>
      <div className="jobs-title">
        <h2>{words.trainings}</h2>
        <span className="grow" />
        <Button label={words.refresh} icon={RotateCw} small tone="quiet" pending={isFetching} onClick={() => void refetch()} />
      </div>
      <div className="jobs-card">
        {error !== null && (
          <Notice title={words.notListed} tone="error">
            <p>{describe(error)}</p>
            <Button label={tryAgain} onClick={() => void refetch()} />
          </Notice>
        )}
        {error === null && data === undefined && <Notice title={words.loading} busy />}
        {data !== undefined && rows.length === 0 && <p className="jobs-none muted">{words.none}</p>}
        {rows.length > 0 && <TrainingsTable rows={rows} now={now} onChanged={() => void refetch()} />}
      </div>
    </>
  );
}
