// What a watchpoint is narrowed to, and which hits count: folded away because most watchpoints need
// none of it.

import { useId, useMemo, useState } from 'react';
import type { GraphIndex } from '../index/graph_index';
import { FIELDS, isNarrowed, type Narrowing } from '../state/narrowing';
import { useScopes } from '../state/scopes';
import * as words from '../words/watch_form';

const DTYPES = ['float16', 'bfloat16', 'float32', 'float64', 'int32', 'int64', 'bool'];
const MAX_TYPES = 500;

// The op types of the graph without their namespace, for completion.
function typesOf(index: GraphIndex | null): string[] {
  const types = new Set<string>();
  for (let node = 0; node < (index?.nodeCount ?? 0) && types.size < MAX_TYPES; node += 1) {
    const type = index?.opType(node + index.scopeCount) ?? '';
    if (type !== '') types.add(type.slice(type.lastIndexOf(':') + 1));
  }
  return [...types].toSorted();
}

// Which hits count.
export interface Counting {
  // In digits; empty for 0.
  ignored: string;
  once: boolean;
}

interface Props {
  texts: Narrowing;
  // Null if all hits count, as over a recorded run.
  counting: Counting | null;
  // A wrong text is shown, so its field must be.
  open: boolean;
  // The job has one rank only, so that none can be chosen.
  alone: boolean;
  onChange: (texts: Narrowing) => void;
  onCount: (counting: Counting) => void;
}

function Fields({ texts, counting, alone, onChange, onCount }: Omit<Props, 'open'>) {
  const id = useId();
  const index = useScopes((state) => state.index);
  const types = useMemo(() => typesOf(index), [index]);
  const completions: Partial<Record<keyof Narrowing, string[]>> = { op_types: types, dtypes: DTYPES };
  const shown = FIELDS.filter((field) => field !== 'ranks' || !alone || texts.ranks !== '');
  return (
    <>
      {shown.map((field) => (
        <div key={field} className="form-row">
          <label htmlFor={`${id}-${field}`}>{words.narrowingNames[field]}</label>
          <input
            id={`${id}-${field}`}
            className="field mono"
            spellCheck={false}
            autoComplete="off"
            list={completions[field] === undefined ? undefined : `${id}-${field}-list`}
            placeholder={words.narrowingExamples[field]}
            title={words.narrowingHints[field]}
            value={texts[field]}
            onChange={(event) => onChange({ ...texts, [field]: event.target.value })}
          />
          {completions[field] !== undefined && (
            <datalist id={`${id}-${field}-list`}>
              {completions[field].map((entry) => (
                <option key={entry} value={entry} />
              ))}
            </datalist>
          )}
        </div>
      ))}
      {counting !== null && (
        <>
          <div className="form-row">
            <label htmlFor={`${id}-ignored`}>{words.ignoredHits}</label>
            <input
              id={`${id}-ignored`}
              className="field mono"
              inputMode="numeric"
              placeholder="0"
              title={words.ignoredHitsHint}
              value={counting.ignored}
              onChange={(event) => onCount({ ...counting, ignored: event.target.value.replaceAll(/\D/g, '') })}
            />
          </div>
          <div className="form-row">
            <label htmlFor={`${id}-once`} title={words.onceHint}>
              {words.once}
            </label>
            <input
              id={`${id}-once`}
              type="checkbox"
              checked={counting.once}
              onChange={(event) => onCount({ ...counting, once: event.target.checked })}
            />
          </div>
        </>
      )}
    </>
  );
}

export function NarrowingFields({ open, ...fields }: Props) {
  const { texts, counting } = fields;
  const counts = counting !== null && (counting.ignored !== '' || counting.once);
  const [unfolded, setUnfolded] = useState(isNarrowed(texts) || counts);
  const shown = open || unfolded;
  return (
    <details className="form-help" open={shown} onToggle={(event) => setUnfolded(event.currentTarget.open)}>
      <summary>{words.more}</summary>
      {shown && <Fields {...fields} />}
    </details>
  );
}
