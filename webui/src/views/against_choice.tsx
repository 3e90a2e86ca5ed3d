// Chooses the other side of a comparison. Offers what the job or the recorded run has.

import { useCallback, useEffect, useId, useMemo, useState } from 'react';
import type { TensorSummary } from '../api/types';
import { runId } from '../base/run_id';
import type { Peer } from '../index/peers';
import { useJob } from '../state/job_store';
import { findNames } from '../state/name_search';
import { useRuns } from '../state/queries';
import { useScopes } from '../state/scopes';
import { ComboField } from '../widgets/combo_field';
import * as words from '../words/tensor_views';
import { isComplete, parseRunSide, type Against } from './compare_side';
import { useJobContext } from './job_context';

const MAX_SUGGESTIONS = 30;

// The recorded runs that the server has, except the one that the page shows.
function useOtherRuns(): readonly string[] {
  const { id } = useJobContext();
  const { data } = useRuns();
  return useMemo(() => (data?.runs ?? []).map((run) => run.id).filter((run) => runId(run) !== id), [data, id]);
}

// Tensors whose names fit a text; without one, those of the same op in other layers.
function useTensorSuggestions(slot: number, peers: readonly Peer[]): (text: string) => readonly string[] {
  const index = useScopes((state) => state.index);
  return useCallback(
    (text) => {
      const words = text.replace(/:\d*$/, '');
      if (words === '') return peers.map(({ name }) => `${name}:${slot}`);
      const found = index === null ? null : findNames(index, words);
      if (index === null || found === null) return [];
      const names: string[] = [];
      for (const item of found) {
        if (!index.isScope(item)) names.push(`${index.name(item)}:0`);
        if (names.length === MAX_SUGGESTIONS) break;
      }
      return names;
    },
    [index, peers, slot],
  );
}

interface Props {
  against: Against;
  tensor: TensorSummary;
  // The steps whose values the job may have.
  steps: readonly number[];
  // Those of the other tensor or rank, besides the step of this side.
  otherSteps: readonly number[];
  // All steps of a recorded run, of which some have no values; null for a job.
  recorded: readonly number[] | null;
  // The same op in other layers.
  peers: readonly Peer[];
  onChange: (against: Against) => void;
}

// The tensor of the same op is a choice of its own.
type Kind = Against['kind'] | 'peer';

function kindOf({ kind, value }: Against, peerNames: readonly string[]): Kind {
  return kind === 'tensor' && peerNames.includes(value) ? 'peer' : kind;
}

export function AgainstChoice({ against, tensor, steps, otherSteps, recorded, peers, onChange }: Props) {
  const info = useJob((state) => state.model.info);
  const { route } = useJobContext();
  const ranks = (info?.ranks ?? []).map(({ rank }) => rank);
  const others = ranks.filter((rank) => rank !== (route?.rank ?? 0));
  const runs = useOtherRuns();
  const suggestTensors = useTensorSuggestions(tensor.slot, peers);
  const suggestRuns = useCallback((text: string) => runs.filter((run) => run.includes(text)), [runs]);
  const peerNames = peers.map(({ name }) => `${name}:${tensor.slot}`);
  const kind = kindOf(against, peerNames);
  const pick = (next: Kind) => {
    if (next === 'peer') return onChange({ kind: 'tensor', value: peerNames[0] ?? '' });
    const first = {
      previous: '',
      step: String((steps[0] ?? recorded?.find((step) => String(step) !== route?.step)) ?? ''),
      rank: String(others[0] ?? 0),
      tensor: '',
      run: runs[0] ?? '',
    };
    onChange({ kind: next, value: first[next] });
  };
  return (
    <>
      <select
        className="field compare-kind"
        aria-label={words.compareWith}
        value={kind}
        onChange={(event) => pick(event.target.value as Kind)}
      >
        <option value="previous">{words.previousStep}</option>
        <option value="step" disabled={steps.length === 0 && (recorded ?? []).length < 2}>
          {words.anotherStep}
        </option>
        <option value="rank" disabled={others.length === 0}>
          {words.anotherRank}
        </option>
        <option value="peer" disabled={peers.length === 0}>
          {words.anotherLayer}
        </option>
        <option value="tensor">{words.anotherTensor}</option>
        <option value="run" disabled={runs.length === 0}>
          {words.anotherRun}
        </option>
      </select>
      {kind === 'run' && (
        <ComboField
          label={words.toCompare.run}
          value={parseRunSide(against.value).run}
          suggest={suggestRuns}
          isValid={(run) => runs.includes(run)}
          onSubmit={(value) => onChange({ kind: 'run', value })}
        />
      )}
      {kind === 'step' && recorded !== null && (
        <RecordedStepField step={against.value} saved={steps} onChange={(value) => onChange({ kind: 'step', value })} />
      )}
      {kind === 'step' && recorded === null && (
        <select
          className="field compare-step"
          aria-label={words.toCompare.step}
          value={against.value}
          onChange={(event) => onChange({ kind: 'step', value: event.target.value })}
        >
          {/* A link may name a step that is gone. */}
          {[...new Set([...steps.map(String), against.value])].map((step) => (
            <option key={step} value={step}>
              {words.step(Number(step))}
            </option>
          ))}
        </select>
      )}
      {kind === 'peer' && (
        <select
          className="field compare-peer"
          aria-label={words.toCompare.layer}
          value={against.value}
          onChange={(event) => onChange({ ...against, value: event.target.value })}
        >
          {peers.map(({ layer }, i) => (
            <option key={peerNames[i]} value={peerNames[i]}>
              {layer}
            </option>
          ))}
        </select>
      )}
      {kind === 'tensor' && (
        <ComboField
          label={words.toCompare.tensor}
          placeholder={words.placeholders.tensor}
          value={against.value}
          suggest={suggestTensors}
          isValid={(value) => isComplete({ ...against, value })}
          onSubmit={(value) => onChange({ ...against, value })}
        />
      )}
      {kind === 'rank' && (
        <RankChoice ranks={others} value={against.value} onChange={(value) => onChange({ ...against, value })} />
      )}
      {against.kind === 'tensor' && ranks.length > 1 && (
        <RankChoice
          ranks={ranks}
          value={String(against.rank ?? route?.rank ?? 0)}
          onChange={(rank) => onChange({ ...against, rank: Number(rank) })}
        />
      )}
      {(against.kind === 'tensor' || against.kind === 'rank') && (
        <OtherStepChoice against={against} steps={otherSteps} onChange={onChange} />
      )}
    </>
  );
}

interface RankProps {
  ranks: readonly number[];
  value: string;
  onChange: (rank: string) => void;
}

function RankChoice({ ranks, value, onChange }: RankProps) {
  return (
    <select
      className="field compare-rank"
      aria-label={words.rankToCompare}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {ranks.map((rank) => (
        <option key={rank} value={rank}>
          {words.rank(rank)}
        </option>
      ))}
    </select>
  );
}

interface StepProps {
  against: Against;
  steps: readonly number[];
  onChange: (against: Against) => void;
}

// The step of another rank or tensor: that of this side unless another one is chosen.
function OtherStepChoice({ against, steps, onChange }: StepProps) {
  const { step, ...sameStep } = against;
  // A link may name another step.
  const offered = [...new Set([...steps.map(String), ...(step === undefined ? [] : [step])])];
  if (offered.length === 0) return null;
  return (
    <select
      className="field compare-step"
      aria-label={words.toCompare.step}
      value={step ?? ''}
      onChange={({ target: { value } }) => onChange(value === '' ? sameStep : { ...sameStep, step: value })}
    >
      <option value="">{words.sameStep}</option>
      {offered.map((each) => (
        <option key={each} value={each}>
          {/^\d+$/.test(each) ? words.step(Number(each)) : each}
        </option>
      ))}
    </select>
  );
}

// Any step of a recorded run; those with values are suggested.
function RecordedStepField({ step, saved, onChange }: { step: string; saved: readonly number[]; onChange: (step: string) => void }) {
  const [text, setText] = useState(step);
  useEffect(() => setText(step), [step]);
  const list = useId();
  const wrong = !/^\d+$/.test(text.trim());
  const submit = () => !wrong && text.trim() !== step && onChange(text.trim());
  return (
    <>
      <input
        className="field mono compare-step"
        aria-label={words.toCompare.step}
        inputMode="numeric"
        list={list}
        value={text}
        aria-invalid={wrong || undefined}
        onChange={(event) => setText(event.target.value)}
        onBlur={submit}
        onKeyDown={(event) => event.key === 'Enter' && submit()}
      />
      <datalist id={list}>
        {saved.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  );
}
