// The form for a new, edited or copied watchpoint. It reads as a sentence: when <condition>
// on <target>, then <pause>.

import { Eye } from 'lucide-react';
import { useDeferredValue, useEffect, useId, useState } from 'react';
import { type Problem } from '../api/problem';
import type { Category, Condition, PauseMode, Rank, SelectionPreview, Watchpoint, WatchpointSelection, WatchpointSpec } from '../api/types';
import { formatBytes, formatNumber, formatSeconds } from '../base/format';
import type { WatchSelection } from '../index/coverage';
import { useAuth } from '../state/auth';
import { canBeChecked } from '../state/backends';
import { countNotOffered, reasonNotOffered } from '../state/frameworks';
import { targetText } from '../state/condition_text';
import { describe } from '../state/describe';
import { useJob } from '../state/job_store';
import { reasonAgainst } from '../state/permissions';
import { useConditions, useNodePreview, useStepSeconds } from '../state/queries';
import { useSelectedRank } from '../state/router';
import { useScopes } from '../state/scopes';
import { previewSelection } from '../state/selection_preview';
import { closeWatchForm, type WatchFormState } from '../state/ui';
import { NO_NARROWING, narrowingOf, readNarrowing } from '../state/narrowing';
import { selectionFor } from '../state/watch_selections';
import { addWatchpoint, changeWatchpoint, listsOf, specOf, type Target } from '../state/watchpoints';
import { Button } from '../widgets/button';
import { GuideLink } from '../widgets/guide_link';
import { Notice } from '../widgets/notice';
import { cancel } from '../words/common';
import * as counts from '../words/counts';
import * as runWords from '../words/run';
import { categoryNames, targetNames } from '../words/watch';
import * as words from '../words/watch_form';
import { NarrowingFields, type Counting } from './narrowing_fields';
import { ParamFields, readParams, suggestedTexts, textsOf, type FieldProblem, type ParamTexts } from './condition_params';
import { useJobContext } from './job_context';
import { useReasonAgainstWatching } from './use_reason_against';

type TargetKind = 'everything' | 'selection' | 'ticked' | 'kept' | 'pattern' | Category;

// True only if the loaded views show the name as a scope.
function useIsScope(name: string | null): boolean {
  return useScopes((state) => {
    if (name === null) return false;
    if (state.views.has(name)) return name !== '';
    for (const view of state.views.values()) {
      const node = view.nodes.find((other) => other.name === name);
      if (node !== undefined) return node.kind === 'scope';
    }
    return false;
  });
}

// The server's error "condition.params.value: must be at most 100" as a problem of the field
// "value".
function problemOf(refused: Problem): FieldProblem {
  const field = refused.field ?? '';
  const message = describe(refused).replace(`${field}: `, '');
  return { message, field: field.split('.').at(-1) ?? null, column: refused.column };
}

// MindSpore's name for "overflow".
const ALIAS = 'tensor_overflow';

// Conditions grouped by target, in the catalogue's order. Comparisons of a single statistic
// are in a group of their own.
function groupsOf(conditions: readonly Condition[]): Array<[string, Condition[]]> {
  const groups = new Map<string, Condition[]>();
  for (const condition of conditions) {
    const own = condition.params.some((param) => param.required);
    const group = own ? words.statistics : words.groups[condition.target];
    groups.set(group, [...(groups.get(group) ?? []), condition]);
  }
  return [...groups];
}

const CATEGORIES: Category[] = ['weight', 'gradient', 'activation', 'optimizer'];

function firstKind({ target, from }: WatchFormState): TargetKind {
  if (from !== null) {
    const { nodes, scopes, patterns, categories } = from;
    // The fields below have the other lists.
    const lists = [nodes, scopes, patterns, categories].filter((list) => list.length > 0);
    if (lists.length === 0) return 'everything';
    if (lists.length === 1 && patterns.length === 1) return 'pattern';
    return 'kept';
  }
  return target === null ? 'everything' : 'selection';
}

// "37 nodes, 12 MB per step, about +0.4 ms per step (+1.2 %)": what the selection covers, and what checking
// it is expected to take. `step`: the seconds that a step of the job takes, or null.
function sizeText({ node_count: count, bytes, seconds_per_step: seconds }: SelectionPreview, condition: Condition, step: number | null): string {
  if (count === 0) return words.noneYet[condition.target];
  if (condition.target === 'training') return counts.nodes(count);
  const read = condition.target === 'op' || bytes === 0 ? [] : [words.bytesPerStep(formatBytes(bytes))];
  const share = step === null ? null : formatNumber((100 * seconds) / step, 2);
  return [counts.nodes(count), ...read, words.timePerStep(formatSeconds(seconds), share)].join(', ');
}

// What the current selection matches.
function Preview({ selection, condition }: { selection: WatchpointSelection | null; condition: Condition }) {
  const { id } = useJobContext();
  const settled = useDeferredValue(selection);
  const preview = useNodePreview(id, settled);
  const step = useStepSeconds(id, useSelectedRank());
  if (selection === null) return null;
  const text = preview.error !== null ? describe(preview.error) : preview.data === undefined ? '' : sizeText(preview.data, condition, step);
  return (
    <p className={`form-preview${preview.error === null ? '' : ' form-problem'}`} role="status" aria-label={words.matchingNodes}>
      {text !== '' && <Eye aria-hidden size={13} />}
      {text}
    </p>
  );
}

// Shows the selection that the form describes as ticks in the tree.
function Mirror({ selection }: { selection: WatchSelection | null }) {
  const index = useScopes((state) => state.index);
  const text = JSON.stringify(selection);
  // The same selection covers other nodes in another graph.
  useEffect(() => {
    previewSelection(JSON.parse(text) as WatchSelection | null);
  }, [text, index]);
  useEffect(() => () => previewSelection(null), []);
  return null;
}

function PauseRow({ id, pause, onChange }: { id: string; pause: PauseMode; onChange: (pause: PauseMode) => void }) {
  return (
    <div className="form-row">
      <label htmlFor={id}>{words.thenLabel}</label>
      <select id={id} className="field" value={pause} onChange={(event) => onChange(event.target.value as PauseMode)}>
        <option value="node">{words.pauseAtOp}</option>
        <option value="step">{words.pauseAtEndOfStep}</option>
        <option value="none">{words.logOnly}</option>
      </select>
    </div>
  );
}

const NO_RANKS: Rank[] = [];
// Conditions that a recorded run says nothing of.
const NOT_RECORDED: ReadonlySet<string> = new Set(['training', 'op']);
// Conditions that do not imply which nodes are meant.
const ANY_NODE: ReadonlySet<string> = new Set(['tensor', 'op']);
const NO_LISTS = { regexes: [], op_types: [], sources: [], dtypes: [], ranks: [], exclude: {} };

// Agents that count no hits refuse these fields, so they are left out unless they say something.
function countingOf({ ignored, once }: Counting, edit: boolean): { once?: boolean; ignore_count?: number } {
  return {
    ...(once || edit ? { once } : {}),
    ...(ignored !== '' || edit ? { ignore_count: Number(ignored) } : {}),
  };
}

// What the fields below the target do not show.
function namesIn({ nodes, scopes, patterns, categories }: Watchpoint) {
  return { nodes, scopes, patterns, categories };
}

interface Props {
  form: WatchFormState;
  // Checks the condition over a recorded run, instead of adding a watchpoint. Returns the server's
  // problem with it.
  onCheck?: (spec: WatchpointSpec) => Promise<Problem | null>;
}

export function WatchForm({ form, onCheck }: Props) {
  const watching = useReasonAgainstWatching();
  const session = useAuth((state) => state.session);
  const unavailable = onCheck === undefined ? watching : reasonAgainst('watch', session, null);
  const { target, ticked, from, edit } = form;
  const { route } = useJobContext();
  const selection = target ?? route?.node ?? null;
  const isScope = useIsScope(selection);
  const conditions = useConditions();
  const ranks = useJob(({ model }) => model.info?.ranks ?? NO_RANKS);
  const framework = useJob(({ model }) => model.info?.framework ?? '');
  const id = useId();
  const [conditionId, setConditionId] = useState(from?.condition.id ?? 'overflow');
  const [texts, setTexts] = useState<ParamTexts>(() => textsOf(from?.condition.params ?? {}));
  // True once the user has chosen the target.
  const [aimed, setAimed] = useState(from !== null);
  const [kind, setKind] = useState<TargetKind>(() => firstKind(form));
  // The user ticks nodes in the tree; a new tick becomes the target.
  const [seenTicks, setSeenTicks] = useState(ticked);
  if (ticked !== seenTicks) {
    setSeenTicks(ticked);
    setKind('ticked');
  }
  const [pattern, setPattern] = useState(from?.patterns[0] ?? '');
  const [narrowing, setNarrowing] = useState(() => (from === null ? NO_NARROWING : narrowingOf(from)));
  const [counting, setCounting] = useState<Counting>({
    ignored: from?.ignore_count ? String(from.ignore_count) : '',
    once: from?.once ?? false,
  });
  const [pause, setPause] = useState<PauseMode>(from?.pause ?? 'node');
  const [problem, setProblem] = useState<FieldProblem | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => setProblem(null), [conditionId, texts, kind, pattern, narrowing, pause]);

  if (conditions.error !== null) {
    return <Notice title={words.conditionsNotLoaded} tone="error">{describe(conditions.error)}</Notice>;
  }
  if (conditions.data === undefined) return <Notice title={words.loadingConditions} busy />;
  const fits = (other: Condition) =>
    other.id !== ALIAS && canBeChecked(other, ranks) && (onCheck === undefined || !NOT_RECORDED.has(other.target));
  const fitting = conditions.data.conditions.filter((other) => fits(other) || other.id === from?.condition.id);
  const offered = fitting.filter((other) => reasonNotOffered(other, framework) === null || other.id === from?.condition.id);
  const left = fitting.filter((other) => !offered.includes(other));
  const condition = offered.find((other) => other.id === conditionId) ?? offered[0];
  if (condition === undefined) return <Notice title={words.noConditions} />;

  // A condition on weights, for example, applies to all weights unless the user chooses a
  // target, since the selected node is rarely a weight.
  const choose = (chosenId: string) => {
    const next = offered.find((other) => other.id === chosenId);
    setConditionId(chosenId);
    setTexts(suggestedTexts(next));
    if (!aimed && kind !== 'ticked') {
      setKind(next !== undefined && ANY_NODE.has(next.target) ? firstKind(form) : 'everything');
    }
  };
  const targetOf = (): Target | string => {
    switch (kind) {
      case 'everything':
        return { kind };
      case 'pattern':
        return pattern.trim() === '' ? words.enterPattern : { kind, pattern: pattern.trim() };
      case 'selection':
        if (selection === null) return words.selectNodeOrScope;
        return { kind: isScope ? 'scope' : 'node', name: selection };
      case 'ticked':
        if (ticked === null || ticked.nodes.length + ticked.scopes.length === 0) {
          return words.selectInTree;
        }
        return { kind: 'lists', lists: { ...ticked, patterns: [], categories: [] } };
      case 'kept':
        return { kind: 'lists', lists: namesIn(from as Watchpoint) };
      default:
        return { kind: 'category', category: kind };
    }
  };
  const submit = async () => {
    const { params, problem: wrong } = readParams(condition, texts);
    if (wrong !== null) return setProblem(wrong);
    const to = targetOf();
    const wrongText = [to, narrowed].find((each) => typeof each === 'string');
    if (typeof to === 'string' || typeof narrowed === 'string') {
      return setProblem({ message: wrongText as string, field: null, column: null });
    }
    setBusy(true);
    const { enabled: _, ...named } = specOf(condition, params, to, pause);
    // A change keeps the lists that it does not name.
    const lists = edit ? { ...NO_LISTS, ...narrowed } : narrowed;
    const spec = { ...named, ...lists, ...countingOf(counting, edit) };
    const refused =
      onCheck !== undefined
        ? await onCheck({ ...spec, enabled: true })
        : edit && from !== null
        ? await changeWatchpoint(from.id, spec)
        : await addWatchpoint({ ...spec, enabled: true });
    setBusy(false);
    if (refused === null) closeWatchForm();
    else setProblem(problemOf(refused));
  };
  const to = targetOf();
  const narrowed = readNarrowing(narrowing, from?.exclude?.categories);
  const lists = typeof to === 'string' || typeof narrowed === 'string' ? null : { ...listsOf(to), ...narrowed };
  const previewed = lists === null ? null : { condition: { id: condition.id }, ...lists };

  // The user's own ticks are in the tree already.
  const own = kind === 'ticked' || (kind === 'kept' && ticked !== null);
  const described = own || lists === null ? null : selectionFor(condition.id, lists);

  return (
    <form
      className="watch-form"
      aria-label={onCheck !== undefined ? runWords.newCheck : edit ? words.watchpoint(from?.id) : words.newWatchpoint}
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy && unavailable === '') void submit();
      }}
      onKeyDown={(event) => event.key === 'Escape' && closeWatchForm()}
    >
      <div className="form-row">
        <label htmlFor={`${id}-condition`}>{words.whenLabel}</label>
        <select
          id={`${id}-condition`}
          className="field"
          autoFocus
          value={condition.id}
          onChange={(event) => choose(event.target.value)}
        >
          {groupsOf(offered).map(([group, conditions]) => (
            <optgroup key={group} label={group}>
              {conditions.map((other) => (
                <option key={other.id} value={other.id}>
                  {other.title === '' ? other.id : other.title}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </div>
      <p className="muted form-hint">{condition.help}</p>
      {[...countNotOffered(left, framework)].map(([reason, count]) => (
        <p key={reason} className="muted form-hint">
          {words.notOffered(reason, count)}
        </p>
      ))}
      <ParamFields
        condition={condition}
        measures={conditions.data.measures}
        texts={texts}
        problem={problem}
        onChange={setTexts}
      />
      <div className="form-row">
        <label htmlFor={`${id}-on`}>{words.onLabel}</label>
        <select
          id={`${id}-on`}
          className="field"
          value={kind}
          onChange={(event) => {
            setAimed(true);
            setKind(event.target.value as TargetKind);
          }}
        >
          <option value="everything">{targetNames[condition.target]}</option>
          {from !== null && <option value="kept">{targetText({ condition: from.condition, ...namesIn(from) })}</option>}
          <option value="ticked">{words.selectedInTree}</option>
          <option value="selection" disabled={selection === null}>
            {selection === null ? words.noSelectedNode : isScope ? words.selectedScope(selection) : selection}
          </option>
          <option value="pattern">{words.matchingPattern}</option>
          {ANY_NODE.has(condition.target) &&
            CATEGORIES.map((category) => (
              <option key={category} value={category}>
                {categoryNames[category]}
              </option>
            ))}
        </select>
      </div>
      {kind !== 'ticked' && <p className="muted form-hint">{words.adjustInTree}</p>}
      {kind === 'pattern' && (
        <div className="form-row">
          <label htmlFor={`${id}-pattern`}>{words.pattern}</label>
          <input
            id={`${id}-pattern`}
            className="field mono"
            spellCheck={false}
            placeholder="backward/**"
            value={pattern}
            title={words.patternHint}
            onChange={(event) => setPattern(event.target.value)}
          />
        </div>
      )}
      <NarrowingFields texts={narrowing} open={typeof narrowed === 'string'} alone={ranks.length < 2}
        counting={onCheck === undefined ? counting : null} onChange={setNarrowing} onCount={setCounting} />
      <Mirror selection={described} />
      {onCheck === undefined && <Preview selection={previewed} condition={condition} />}
      {onCheck === undefined && <PauseRow id={`${id}-pause`} pause={pause} onChange={setPause} />}
      <footer className="form-foot">
        <p className="form-problem" role="alert">
          {problem?.message}
        </p>
        <div className="form-actions">
          <GuideLink page="watchpoints" />
          <Button label={cancel} small onClick={closeWatchForm} />
          <Button
            label={onCheck !== undefined ? runWords.runCheck : edit ? words.save : words.add}
            small
            tone="primary"
            submit
            pending={busy}
            disabledReason={unavailable}
            onClick={() => {}}
          />
        </div>
      </footer>
    </form>
  );
}
