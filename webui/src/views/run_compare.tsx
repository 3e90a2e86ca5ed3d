// Where a recorded run, or a rank of it, diverges from another one: the first tensor that differs.

import { Columns2 } from 'lucide-react';
import { useState } from 'react';
import type { CallDifference, Difference, Divergence } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import { goToTensor } from '../state/checks';
import { describe } from '../state/describe';
import { patchRoute, useRouter } from '../state/router';
import { Button } from '../widgets/button';
import { FullName } from '../widgets/full_name';
import { Notice } from '../widgets/notice';
import * as words from '../words/run';
import { compareWith, useCompared, type Compared } from './use_compared';

const valueText = (value: number | string) => (typeof value === 'number' ? formatNumber(value) : value);

// Describes whether the inputs of the op were still equal, except those that only one side changes in place: what was
// recorded of them is from before.
function inputsText({ inputs, calls }: Difference): string {
  const changed = new Set(calls.filter(({ what }) => what === 'in_place').map(({ subject }) => subject));
  const named = (state: string) =>
    inputs.filter((input) => input.state === state).map(({ node, slot }) => `${node}:${slot}`).filter((name) => !changed.has(name));
  const [equal, different, missing] = [named('equal'), named('differs'), named('not_recorded')];
  const parts: string[] = [];
  if (different.length > 0) parts.push(words.inputsDiffer(different));
  else if (equal.length > 0) parts.push(words.inputsEqual(equal.length));
  if (missing.length > 0) parts.push(words.inputsNotRecorded(missing));
  return parts.join(' · ');
}

function callText({ what, subject, here, there }: CallDifference): string {
  if (what === 'attribute') return words.attributeDiffers(subject, here, there);
  return what === 'input' ? words.inputIsOther(here, there) : words.changedInPlace(subject, here, there);
}

function DifferenceRow({ difference, rank }: { difference: Difference; rank: number }) {
  const { step, node, slot, measure, here, there, there_node: other } = difference;
  const inputs = inputsText(difference);
  return (
    <li>
      <button type="button" className="check-hit" title={node} onClick={() => goToTensor({ step, node, slot, rank })}>
        <span className="mono check-step">{words.hitAt(step, rank, false)}</span>
        <FullName name={node} />
        <span className="muted mono ellipsis">{words.differsIn(measure, valueText(here), valueText(there))}</span>
      </button>
      {other !== node && <p className="muted mono ellipsis">{words.namedThere(other)}</p>}
      {difference.calls.map((call) => (
        <p key={`${call.what} ${call.subject}`}>{callText(call)}</p>
      ))}
      {inputs !== '' && <p className="muted">{inputs}</p>}
    </li>
  );
}

function showGraphs({ step, node, slot }: Difference, rank: number): void {
  goToTensor({ step, node, slot, rank });
  patchRoute({ beside: true });
}

function Result({ found, rank }: { found: Divergence; rank: number }) {
  const { first, next, matched, steps, renamings } = found;
  const beside = useRouter(({ route }) => route.view === 'job' && route.route.beside);
  const missing = found.only_here_count + found.only_there_count;
  return (
    <>
      {first === null && (
        <p className="check-result" role="status">
          {matched === 0 ? words.nothingInCommon : words.allAgree(matched, steps)}
        </p>
      )}
      {first !== null && (
        <>
          <div className="check-head">
            <p className="check-result" role="status">
              {words.firstDifference}
            </p>
            <span className="grow" />
            {!beside && <Button label={words.showBothGraphs} icon={Columns2} small onClick={() => showGraphs(first, rank)} />}
          </div>
          <ul aria-label={words.firstDifference}>
            <DifferenceRow difference={first} rank={rank} />
          </ul>
        </>
      )}
      {next.length > 0 && (
        <details>
          <summary>
            {words.nextDifferences}: {formatCount(next.length)}
          </summary>
          <ul aria-label={words.nextDifferences}>
            {next.map((each, place) => (
              // The same tensor may differ several times in a step.
              <DifferenceRow key={place} difference={each} rank={rank} />
            ))}
          </ul>
        </details>
      )}
      {renamings.length > 0 && (
        <details>
          <summary>{words.renamed(renamings.length)}</summary>
          <ul aria-label={words.renamed(renamings.length)}>
            {renamings.map(({ from, to, nodes }) => (
              <li key={from} className="mono muted">
                {words.renaming(from, to, nodes)}
              </li>
            ))}
          </ul>
        </details>
      )}
      {missing > 0 && (
        <p className="muted" title={[...found.only_here, ...found.only_there].join('\n')}>
          {words.onlyHere(found.only_here_count)}, {words.onlyThere(found.only_there_count)}
        </p>
      )}
    </>
  );
}

// The texts of the fields. Where one is empty, the server's default applies.
type Terms = Record<'rtol' | 'atol' | 'calibrate' | 'map' | 'by', string>;
const NO_TERMS: Terms = { rtol: '', atol: '', calibrate: '', map: '', by: '' };

function formatTerms(terms: Terms): string | null {
  const given = Object.entries(terms).filter(([, value]) => value.trim() !== '');
  return given.length === 0 ? null : new URLSearchParams(given).toString();
}

// Tolerances, names that differ, and a run that counts as equal.
function TermsForm({ compared: { terms, choices, name, run } }: { compared: Compared }) {
  const [fields, setFields] = useState<Terms>({ ...NO_TERMS, ...Object.fromEntries(new URLSearchParams(terms ?? '')) });
  const set = (change: Partial<Terms>) => setFields({ ...fields, ...change });
  const text = (key: 'rtol' | 'atol' | 'map') => (
    <label>
      <span>{words.termNames[key]}</span>
      <input className="field mono" value={fields[key]} placeholder={words.termHints[key]} spellCheck={false} onChange={(event) => set({ [key]: event.target.value })} />
    </label>
  );
  const equals = choices.filter((each) => each.id !== name && each.id !== run);
  return (
    <details open={terms !== null}>
      <summary>{words.comparisonTerms}</summary>
      <form
        className="compare-terms"
        aria-label={words.comparisonTerms}
        onSubmit={(event) => {
          event.preventDefault();
          patchRoute({ terms: formatTerms(fields) });
        }}
      >
        <label>
          <span>{words.termNames.by}</span>
          <select className="field" value={fields.by} onChange={(event) => set({ by: event.target.value })}>
            <option value="">{words.byNames.statistics}</option>
            <option value="digest">{words.byNames.digest}</option>
          </select>
        </label>
        {text('rtol')}
        {text('atol')}
        {text('map')}
        {equals.length > 0 && (
          <label>
            <span>{words.termNames.calibrate}</span>
            <select className="field" value={fields.calibrate} onChange={(event) => set({ calibrate: event.target.value })}>
              <option value="">{words.noCalibration}</option>
              {equals.map((each) => (
                <option key={each.id}>{each.id}</option>
              ))}
            </select>
          </label>
        )}
        <Button label={words.applyTerms} small submit onClick={() => {}} />
      </form>
    </details>
  );
}

// Nothing unless there is another rank or another run.
export function RunCompare() {
  const compared = useCompared();
  const { name, rank, choices, run, ranks, chosen, data, error, isFetching } = compared;
  if (choices.length === 0) return null;
  return (
    <section className="check" aria-label={words.compareRuns} aria-busy={isFetching}>
      <div className="check-head">
        <strong>{words.compareRuns}</strong>
        <select className="field" aria-label={words.compareWithRun} value={run} onChange={(event) => compareWith(event.target.value, null)}>
          <option value="">{words.noOther}</option>
          {choices.map((each) => (
            <option key={each.id} value={each.id}>
              {each.id === name ? words.thisRun : each.id}
            </option>
          ))}
        </select>
        {ranks.length > (run === name ? 0 : 1) && (
          <select
            className="field"
            aria-label={words.compareWithRank}
            value={chosen}
            onChange={(event) => compareWith(run, Number(event.target.value))}
          >
            {ranks.map((each) => (
              <option key={each} value={each}>
                {words.rankName(each)}
              </option>
            ))}
          </select>
        )}
      </div>
      {run !== '' && <TermsForm key={compared.terms} compared={compared} />}
      {isFetching && <Notice title={words.comparing} busy />}
      {error !== null && (
        <Notice title={words.notCompared} tone="error">
          {describe(error)}
        </Notice>
      )}
      {data !== undefined && <Result found={data} rank={rank} />}
    </section>
  );
}
