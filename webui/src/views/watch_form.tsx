// A watchpoint as a sentence: when <condition> on <target>, then <pause>. New, or
// one that is changed or copied.

import { Eye } from 'lucide-react';
import { useDeferredValue, useEffect, useId, useState } from 'react';
import { describe, type Problem } from '../api/problem';
import type { Category, Condition, PauseMode, Rank, Watchpoint, WatchpointSelection } from '../api/types';
import { plural } from '../base/format';
import type { WatchSelection } from '../index/coverage';
import { canBeChecked } from '../state/backends';
import { useJob } from '../state/job_store';
import { useConditions, useNodePreview } from '../state/queries';
import { previewSelection } from '../state/selection_preview';
import { useScopes } from '../state/scopes';
import { closeWatchForm, type WatchFormState } from '../state/ui';
import { TARGET_WORDS, targetText } from '../state/condition_text';
import { addWatchpoint, changeWatchpoint, listsOf, specOf, type Target } from '../state/watchpoints';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { ParamFields, readParams, suggestedTexts, textsOf, type FieldProblem, type ParamTexts } from './condition_params';
import { useJobContext } from './job_context';

type TargetKind = 'everything' | 'selection' | 'ticked' | 'kept' | 'pattern' | Category;

// A node that nobody knows is taken for a scope only if it was seen as one.
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

// "condition.params.value: has to be at most 100" about the field "value".
function problemOf(refused: Problem): FieldProblem {
  const field = refused.field ?? '';
  const message = refused.message.replace(`${field}: `, '');
  return { message, field: field.split('.').at(-1) ?? null, column: refused.column };
}

const KINDS = { tensor: 'node', weight: 'weight', gradient: 'gradient', activation: 'activation' };

// MindSpore's name of "overflow".
const ALIAS = 'tensor_overflow';

const GROUPS: Record<Condition['target'], string> = {
  tensor: 'Any tensor',
  weight: 'Weights',
  gradient: 'Gradients',
  activation: 'Activations',
};

// In the catalogue's order, comparisons of a single statistic apart.
function groupsOf(conditions: readonly Condition[]): Array<[string, Condition[]]> {
  const groups = new Map<string, Condition[]>();
  for (const condition of conditions) {
    const own = condition.params.some((param) => param.required);
    const group = own ? 'Statistics' : GROUPS[condition.target];
    groups.set(group, [...(groups.get(group) ?? []), condition]);
  }
  return [...groups];
}

const CATEGORIES: Category[] = ['weight', 'gradient', 'activation', 'optimizer'];

function firstKind({ target, from }: WatchFormState): TargetKind {
  if (from !== null) {
    const { nodes, scopes, patterns, categories } = from;
    const lists = [nodes, scopes, patterns, categories].filter((list) => list.length > 0);
    if (lists.length === 0) return 'everything';
    if (lists.length === 1 && patterns.length === 1) return 'pattern';
    return 'kept';
  }
  return target === null ? 'everything' : 'selection';
}

// How many nodes are meant, as one chooses.
function Preview({ selection, condition }: { selection: WatchpointSelection | null; condition: Condition }) {
  const { id } = useJobContext();
  const settled = useDeferredValue(selection);
  const preview = useNodePreview(id, settled);
  if (selection === null) return null;
  const count = preview.data?.node_count;
  const text =
    preview.error !== null
      ? describe(preview.error)
      : count === undefined
        ? ''
        : count === 0
          ? `No ${KINDS[condition.target]} yet; those that come later will be watched.`
          : plural(count, 'node');
  return (
    <p className={`form-preview${preview.error === null ? '' : ' form-problem'}`} role="status" aria-label="Nodes meant">
      {text !== '' && <Eye aria-hidden size={13} />}
      {text}
    </p>
  );
}

// The tree shows by its tick boxes what is said in words.
function Mirror({ selection }: { selection: WatchSelection | null }) {
  const index = useScopes((state) => state.index);
  const text = JSON.stringify(selection);
  // The same words mean other nodes in another graph.
  useEffect(() => {
    previewSelection(JSON.parse(text) as WatchSelection | null);
  }, [text, index]);
  useEffect(() => () => previewSelection(null), []);
  return null;
}

const NO_RANKS: Rank[] = [];

export function WatchForm({ form }: { form: WatchFormState }) {
  const { target, ticked, from, edit } = form;
  const { route } = useJobContext();
  const selection = target ?? route?.node ?? null;
  const isScope = useIsScope(selection);
  const conditions = useConditions();
  const ranks = useJob(({ model }) => model.info?.ranks ?? NO_RANKS);
  const id = useId();
  const [conditionId, setConditionId] = useState(from?.condition.id ?? 'overflow');
  const [texts, setTexts] = useState<ParamTexts>(() => textsOf(from?.condition.params ?? {}));
  // The user has said what it is on.
  const [aimed, setAimed] = useState(from !== null);
  const [kind, setKind] = useState<TargetKind>(() => firstKind(form));
  // Ticks are made elsewhere: the newest counts.
  const [seenTicks, setSeenTicks] = useState(ticked);
  if (ticked !== seenTicks) {
    setSeenTicks(ticked);
    setKind('ticked');
  }
  const [pattern, setPattern] = useState(from?.patterns[0] ?? '');
  const [pause, setPause] = useState<PauseMode>(from?.pause ?? 'node');
  const [problem, setProblem] = useState<FieldProblem | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => setProblem(null), [conditionId, texts, kind, pattern, pause]);

  if (conditions.error !== null) {
    return <Notice title="Conditions could not be loaded" tone="error">{describe(conditions.error)}</Notice>;
  }
  if (conditions.data === undefined) return <Notice title="Loading conditions" busy />;
  const offered = conditions.data.conditions.filter(
    (other) => (other.id !== ALIAS && canBeChecked(other, ranks)) || other.id === from?.condition.id,
  );
  const condition = offered.find((other) => other.id === conditionId) ?? offered[0];
  if (condition === undefined) return <Notice title="This server offers no conditions" />;

  // What is about weights, say, is on all of them unless the user says otherwise: the
  // selected node is seldom one.
  const choose = (chosenId: string) => {
    const next = offered.find((other) => other.id === chosenId);
    setConditionId(chosenId);
    setTexts(suggestedTexts(next));
    if (!aimed && kind !== 'ticked') {
      setKind(next?.target === 'tensor' ? firstKind(form) : 'everything');
    }
  };
  const targetOf = (): Target | string => {
    switch (kind) {
      case 'everything':
        return { kind };
      case 'pattern':
        return pattern.trim() === '' ? 'Give a pattern.' : { kind, pattern: pattern.trim() };
      case 'selection':
        if (selection === null) return 'Select a node or a scope first.';
        return { kind: isScope ? 'scope' : 'node', name: selection };
      case 'ticked':
        if (ticked === null || ticked.nodes.length + ticked.scopes.length === 0) {
          return 'Tick a node or a scope in the tree first.';
        }
        return { kind: 'lists', lists: { ...ticked, patterns: [], categories: [] } };
      case 'kept':
        return { kind: 'lists', lists: from as Watchpoint };
      default:
        return { kind: 'category', category: kind };
    }
  };
  const submit = async () => {
    const { params, problem: wrong } = readParams(condition, texts);
    if (wrong !== null) return setProblem(wrong);
    const to = targetOf();
    if (typeof to === 'string') return setProblem({ message: to, field: null, column: null });
    setBusy(true);
    const { enabled: _, ...spec } = specOf(condition, params, to, pause);
    const refused =
      edit && from !== null
        ? await changeWatchpoint(from.id, spec)
        : await addWatchpoint({ ...spec, enabled: true });
    setBusy(false);
    if (refused === null) closeWatchForm();
    else setProblem(problemOf(refused));
  };
  const to = targetOf();
  const meant =
    typeof to === 'string' ? null : { condition: { id: condition.id }, ...listsOf(to) };

  const own = kind === 'ticked' || (kind === 'kept' && ticked !== null);
  const category = condition.target === 'tensor' ? null : condition.target;
  const words = own || typeof to === 'string' ? null : { ...listsOf(to), target: category };

  return (
    <form
      className="watch-form"
      aria-label={edit ? `Watchpoint ${from?.id}` : 'New watchpoint'}
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) void submit();
      }}
      onKeyDown={(event) => event.key === 'Escape' && closeWatchForm()}
    >
      <div className="form-row">
        <label htmlFor={`${id}-condition`}>When</label>
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
      <ParamFields
        condition={condition}
        measures={conditions.data.measures}
        texts={texts}
        problem={problem}
        onChange={setTexts}
      />
      <div className="form-row">
        <label htmlFor={`${id}-on`}>On</label>
        <select
          id={`${id}-on`}
          className="field"
          value={kind}
          onChange={(event) => {
            setAimed(true);
            setKind(event.target.value as TargetKind);
          }}
        >
          <option value="everything">{TARGET_WORDS[condition.target]}</option>
          {from !== null && <option value="kept">{targetText(from)}</option>}
          <option value="ticked">what is ticked in the tree</option>
          <option value="selection" disabled={selection === null}>
            {selection === null ? 'the selected node (none)' : `${selection}${isScope ? '/ and all in it' : ''}`}
          </option>
          <option value="pattern">nodes that match a pattern</option>
          {condition.target === 'tensor' &&
            CATEGORIES.map((category) => (
              <option key={category} value={category}>
                all of kind {category}
              </option>
            ))}
        </select>
      </div>
      {kind !== 'ticked' && <p className="muted form-hint">The tree shows it, and may be ticked otherwise.</p>}
      {kind === 'pattern' && (
        <div className="form-row">
          <label htmlFor={`${id}-pattern`}>Pattern</label>
          <input
            id={`${id}-pattern`}
            className="field mono"
            spellCheck={false}
            placeholder="backward/**"
            value={pattern}
            title="* within a part of a name, ** across parts, ? one character"
            onChange={(event) => setPattern(event.target.value)}
          />
        </div>
      )}
      <Mirror selection={words} />
      <Preview selection={meant} condition={condition} />
      <div className="form-row">
        <label htmlFor={`${id}-pause`}>Then</label>
        <select
          id={`${id}-pause`}
          className="field"
          value={pause}
          onChange={(event) => setPause(event.target.value as PauseMode)}
        >
          <option value="node">stop at the node</option>
          <option value="step">stop at the end of the step</option>
          <option value="none">only record the hit</option>
        </select>
      </div>
      <footer className="form-foot">
        <p className="form-problem" role="alert">
          {problem?.message}
        </p>
        <div className="form-actions">
          <Button label="Cancel" small onClick={closeWatchForm} />
          <Button label={edit ? 'Change' : 'Add'} small tone="primary" submit pending={busy} onClick={() => {}} />
        </div>
      </footer>
    </form>
  );
}
