// Shows whether a live job is recorded, and where to; starts and stops the recording.

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Disc } from 'lucide-react';
import { useState } from 'react';
import { api } from '../api/client';
import type { Job, RankRecording, Recording } from '../api/types';
import { describe } from '../state/describe';
import { Button } from '../widgets/button';
import { Dialog } from '../widgets/dialog';
import { Notice } from '../widgets/notice';
import * as words from '../words/recording';
import { useReasonAgainst } from './use_reason_against';
import './recording_chip.css';

const REFRESH_MS = 2000;

function RankLine({ recording }: { recording: RankRecording }) {
  const { rank, state, host, directory } = recording;
  return (
    <li>
      <span className="muted">{words.rank(rank)}</span> {words.stateNames[state]}
      {directory !== null && (
        <>
          {' '}
          <span className="mono">{words.place(host, directory)}</span>
          <div className="muted">{words.amount(recording)}</div>
        </>
      )}
    </li>
  );
}

function RecordingForm({ job, recording, onClose }: { job: Job; recording: Recording; onClose: () => void }) {
  const forbidden = useReasonAgainst('record');
  const client = useQueryClient();
  const [directory, setDirectory] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const on = recording.ranks.some(({ state }) => state === 'on' || state === 'starting');
  const supported = recording.ranks.some((rank) => rank.supported);
  const change = async () => {
    setBusy(true);
    setProblem('');
    try {
      const given = on || directory === '' ? {} : { directory };
      client.setQueryData(['recording', job.id], await api.setRecording(job.id, { on: !on, ...given }));
    } catch (error) {
      setProblem(describe(error));
    }
    setBusy(false);
  };
  return (
    <Dialog label={words.recordingOf} onClose={onClose}>
      <form
        className="recording-form"
        onSubmit={(event) => {
          event.preventDefault();
          void change();
        }}
      >
        <h2>{words.recordingOf}</h2>
        <ul aria-label={words.ranks}>
          {recording.ranks.map((each) => (
            <RankLine key={each.rank} recording={each} />
          ))}
        </ul>
        {!on && (
          <label>
            {words.directory} <span className="muted">{words.directoryHint}</span>
            <input className="mono" value={directory} onChange={(event) => setDirectory(event.target.value)} />
          </label>
        )}
        <p className="muted">{words.takesEffect}</p>
        {problem !== '' && (
          <Notice title={words.failed} tone="error">
            {problem}
          </Notice>
        )}
        <Button
          label={on ? words.stop : words.start}
          pending={busy}
          disabledReason={supported ? forbidden : words.unsupported}
          onClick={() => void change()}
        />
      </form>
    </Dialog>
  );
}

export function RecordingChip({ job }: { job: Job }) {
  const [open, setOpen] = useState(false);
  const { data, error } = useQuery({
    queryKey: ['recording', job.id],
    queryFn: ({ signal }) => api.recording(job.id, signal),
    refetchInterval: REFRESH_MS,
  });
  const on = data?.ranks.some(({ state }) => state !== 'off') ?? false;
  return (
    <>
      <Button
        label={on ? words.recordingNow : words.record}
        icon={Disc}
        small
        tone="quiet"
        hint={error === null ? words.recordHint : `${words.notLoaded}: ${describe(error)}`}
        onClick={() => setOpen(true)}
      />
      {open && data !== undefined && <RecordingForm job={job} recording={data} onClose={() => setOpen(false)} />}
    </>
  );
}
