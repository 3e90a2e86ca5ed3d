// Shows whether a live job is recorded, and where to; starts and stops the recording.

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Disc } from 'lucide-react';
import { useState } from 'react';
import { api } from '../api/client';
import type { Job, RankRecording, Recording, RecordingRequest } from '../api/types';
import { describe } from '../state/describe';
import { Button } from '../widgets/button';
import { Dialog } from '../widgets/dialog';
import { Notice } from '../widgets/notice';
import * as words from '../words/recording';
import { useReasonAgainst } from './use_reason_against';
import './recording_chip.css';

const REFRESH_MS = 2000;
// The predefined collections (agent/core/collections.cc).
const COLLECTIONS = ['losses', 'weights', 'biases', 'gradients', 'optimizer_state', 'inputs', 'outputs', 'layers', 'all'];

type Settings = Omit<RecordingRequest, 'on'>;

interface ChoiceProps<T extends string> {
  label: string;
  names: Record<T, string>;
  value: T | undefined;
  onChange: (value: T | undefined) => void;
}

function Choice<T extends string>({ label, names, value, onChange }: ChoiceProps<T>) {
  return (
    <label>
      {label}
      <select className="field" value={value ?? ''} onChange={(event) => onChange((event.target.value || undefined) as T | undefined)}>
        <option value="">{words.asConfigured}</option>
        {Object.entries<string>(names).map(([key, name]) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

// The settings of the next recording. The job's configuration applies to fields that are left out.
function SettingsFields({ settings, onChange }: { settings: Settings; onChange: (settings: Settings) => void }) {
  const { directory = '', level, keep, collections = [] } = settings;
  const set = (change: { [Key in keyof Settings]: Settings[Key] | undefined }) => {
    const changed = Object.entries({ ...settings, ...change }).filter(([, value]) => value !== undefined);
    onChange(Object.fromEntries(changed));
  };
  const toggle = (name: string) => {
    const chosen = COLLECTIONS.filter((each) => (each === name ? !collections.includes(each) : collections.includes(each)));
    set({ collections: chosen.length === 0 ? undefined : chosen });
  };
  return (
    <>
      <label>
        {words.directory} <span className="muted">{words.directoryHint}</span>
        <input className="mono" value={directory} onChange={(event) => set({ directory: event.target.value || undefined })} />
      </label>
      <Choice label={words.level} names={words.levelNames} value={level} onChange={(value) => set({ level: value })} />
      <Choice label={words.keep} names={words.keepNames} value={keep} onChange={(value) => set({ keep: value })} />
      <fieldset className="recording-collections">
        <legend>
          {words.collections} <span className="muted">{collections.length === 0 ? words.asConfigured : ''}</span>
        </legend>
        {COLLECTIONS.map((name) => (
          <label key={name}>
            <input type="checkbox" checked={collections.includes(name)} onChange={() => toggle(name)} /> {name}
          </label>
        ))}
      </fieldset>
    </>
  );
}

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
  const [settings, setSettings] = useState<Settings>({});
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const on = recording.ranks.some(({ state }) => state === 'on' || state === 'starting');
  const supported = recording.ranks.some((rank) => rank.supported);
  const change = async () => {
    setBusy(true);
    setProblem('');
    try {
      const request = on ? { on: false } : { on: true, ...settings };
      client.setQueryData(['recording', job.id], await api.setRecording(job.id, request));
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
        {!on && <SettingsFields settings={settings} onChange={setSettings} />}
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
