// Changes the paused job: values of a tensor, a learning rate, the next step, the last one.

import { useQueryClient } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { useId, useState, type ReactNode } from 'react';
import { api } from '../api/client';
import { sentence } from '../base/format';
import { readForm, type ChangeForm, type FormField } from '../state/change';
import { describe } from '../state/describe';
import { useJob } from '../state/job_store';
import { useRouter } from '../state/router';
import { showOverlay } from '../state/ui';
import { Button } from '../widgets/button';
import { Dialog } from '../widgets/dialog';
import * as words from '../words/change';
import { changeJob } from '../words/change_orders';
import { cancel, close as closeText } from '../words/common';
import { useReasonAgainstChange } from './use_reason_against';
import './change_dialog.css';

const KINDS = Object.keys(words.kinds) as words.Kind[];

type Outcome = { kind: 'changed'; texts: string[] } | { kind: 'failed'; text: string; field: FormField | null } | null;

// What the page shows: its tensor and slice.
function useFirstForm(): ChangeForm {
  const route = useRouter((state) => (state.route.view === 'job' ? state.route.route : null));
  const tensor = route === null || route.node === null ? '' : `${route.node}:${route.slot ?? 0}`;
  return {
    kind: 'values',
    tensor,
    slice: route?.slice?.replace(/\.T$/, '') ?? '',
    values: '',
    rate: '',
    optimizer: '',
    group: '',
    rank: null,
  };
}

interface FieldProps {
  label: string;
  value: string;
  placeholder?: string;
  invalid: boolean;
  describedBy: string;
  onChange: (value: string) => void;
}

function Field({ label, value, placeholder, invalid, describedBy, onChange }: FieldProps) {
  return (
    <label>
      <span>{label}</span>
      <input
        className="field mono"
        value={value}
        placeholder={placeholder}
        spellCheck={false}
        autoComplete="off"
        aria-invalid={invalid || undefined}
        aria-describedby={invalid ? describedBy : undefined}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

interface FieldsProps {
  form: ChangeForm;
  // The field that is wrong.
  wrong: FormField | null;
  problem: string;
  onChange: (change: Partial<ChangeForm>) => void;
}

function Fields({ form, wrong, problem, onChange }: FieldsProps) {
  const field = (name: FormField | 'slice', label: string, placeholder: string) => (
    <Field
      label={label}
      value={form[name]}
      placeholder={placeholder}
      invalid={wrong === name}
      describedBy={problem}
      onChange={(value) => onChange({ [name]: value })}
    />
  );
  if (form.kind === 'values') {
    return (
      <>
        {field('tensor', words.tensor, words.tensorPlaceholder)}
        {field('slice', words.slice, words.slicePlaceholder)}
        {field('values', words.newValues, words.valuesPlaceholder)}
      </>
    );
  }
  if (form.kind !== 'learning_rate') return null;
  return (
    <>
      {field('rate', words.learningRate, '0.001')}
      {field('optimizer', words.optimizer, words.all)}
      {field('group', words.group, words.all)}
    </>
  );
}

function RankChoice({ rank, onChange }: { rank: number | null; onChange: (rank: number | null) => void }) {
  const ranks = useJob(({ model }) => model.info?.ranks) ?? [];
  if (ranks.length < 2) return null;
  return (
    <label>
      <span>{words.rank}</span>
      <select
        className="field"
        value={rank ?? ''}
        onChange={({ target: { value } }) => onChange(value === '' ? null : Number(value))}
      >
        <option value="">{words.allRanks}</option>
        {ranks.map((each) => (
          <option key={each.rank} value={each.rank}>
            {words.oneRank(each.rank)}
          </option>
        ))}
      </select>
    </label>
  );
}

function OutcomeText({ id, outcome }: { id: string; outcome: Outcome }): ReactNode {
  if (outcome === null) return null;
  if (outcome.kind === 'failed') {
    return (
      <p id={id} role="alert" className="change-failed">
        {outcome.text}
      </p>
    );
  }
  return (
    <div role="status" className="change-done">
      <strong>{words.changed}</strong>
      <ul>
        {outcome.texts.map((text) => (
          <li key={text} className="mono">
            {text}
          </li>
        ))}
      </ul>
    </div>
  );
}

export function ChangeDialog() {
  const id = useId();
  const job = useJob((state) => state.id);
  const forbidden = useReasonAgainstChange();
  const queries = useQueryClient();
  const first = useFirstForm();
  const [form, setForm] = useState(first);
  const [outcome, setOutcome] = useState<Outcome>(null);
  const [pending, setPending] = useState(false);
  const edit = (change: Partial<ChangeForm>) => {
    setForm((before) => ({ ...before, ...change }));
    setOutcome(null);
  };
  const submit = async () => {
    if (job === null || forbidden !== '' || pending) return;
    const read = readForm(form);
    if (!read.ok) return setOutcome({ kind: 'failed', text: read.problem, field: read.field });
    setPending(true);
    try {
      const { changes } = await api.change(job, read.request);
      const texts = changes.map(({ rank, text }) => (changes.length > 1 ? words.onRank(rank, text) : text));
      setOutcome({ kind: 'changed', texts });
      // Values that the page shows may be others now.
      void queries.invalidateQueries();
    } catch (error) {
      setOutcome({ kind: 'failed', text: sentence(describe(error)), field: null });
    }
    setPending(false);
  };
  const close = () => showOverlay(null);
  return (
    <Dialog label={changeJob} className="change" onClose={close}>
      <form
        aria-label={changeJob}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h2>{changeJob}</h2>
        <p className="muted">{words.warning}</p>
        <div className="change-fields">
          <label>
            <span>{words.what}</span>
            <select className="field" value={form.kind} onChange={(event) => edit({ kind: event.target.value as words.Kind })}>
              {KINDS.map((kind) => (
                <option key={kind} value={kind}>
                  {words.kinds[kind]}
                </option>
              ))}
            </select>
          </label>
          <Fields form={form} wrong={outcome?.kind === 'failed' ? outcome.field : null} problem={id} onChange={edit} />
          <RankChoice rank={form.rank} onChange={(rank) => edit({ rank })} />
        </div>
        <p className="muted">{words.explanations[form.kind]}</p>
        <OutcomeText id={id} outcome={outcome} />
        <div className="change-actions">
          <Button label={outcome?.kind === 'changed' ? closeText : cancel} onClick={close} />
          <Button label={words.apply} tone="critical" submit pending={pending} disabledReason={forbidden} onClick={() => {}} />
        </div>
      </form>
      <span className="change-close">
        <Button label={closeText} icon={X} iconOnly small tone="quiet" onClick={close} />
      </span>
    </Dialog>
  );
}
