// Fields for the parameters of a condition, as the server's catalogue describes them.

import { useId } from 'react';
import type { Condition, ConditionParam, Measure, ParamValue } from '../api/types';
import { formatNumber } from '../base/format';
import { toNumber, type Num } from '../base/numbers';
import { splitRelation } from '../state/condition_text';
import * as words from '../words/watch_form';

// The contents of the fields by parameter: text, or 'true' and 'false' for checkboxes.
export type ParamTexts = Record<string, string>;

export interface FieldProblem {
  message: string;
  field: string | null;
  // Position of the problem in the field's text, from 1.
  column: number | null;
}

// The parameter's title, followed by its relation if it has one: "mean |x| >".
function labelOf({ name, title, tested }: ConditionParam): string {
  const relation = tested ? splitRelation(name)?.relation : undefined;
  return relation === undefined ? title : `${title} ${relation}`;
}

function defaultText({ default: value, type }: ConditionParam): string {
  if (value === null) return '';
  return String(typeof value === 'boolean' || type === 'choice' ? value : toNumber(value as Num));
}

// The fields for an existing watchpoint's parameters.
export function textsOf(params: Record<string, ParamValue>): ParamTexts {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [
      name,
      String(typeof value === 'number' ? toNumber(value) : value),
    ]),
  );
}

// The fields for a new watchpoint: only those with a suggested value. Others are empty or
// have their defaults.
export function suggestedTexts(condition: Condition | undefined): ParamTexts {
  const suggested = condition?.params.filter((param) => param.suggested !== null) ?? [];
  return Object.fromEntries(suggested.map((param) => [param.name, String(toNumber(param.suggested as Num))]));
}

// The default and the allowed range of a number: "default 100, 0 … 100, percent".
function limitsOf({ default: value, min, max, above_min, unit }: ConditionParam): string {
  const parts: string[] = [];
  if (value !== null && typeof value !== 'boolean') parts.push(words.defaultValue(formatNumber(value as Num)));
  const [low, high] = [min ?? null, max ?? null];
  if (low !== null && high !== null) parts.push(words.between(formatNumber(low), formatNumber(high)));
  else if (low !== null) parts.push((above_min === true ? words.above : words.atLeast)(formatNumber(low)));
  else if (high !== null) parts.push(words.atMost(formatNumber(high)));
  if (parts.length > 0 && unit === 'percent') parts.push(words.percent);
  return parts.join(', ');
}

export function textOf(param: ConditionParam, texts: ParamTexts): string {
  return texts[param.name] ?? defaultText(param);
}

const wrongField = (name: string, message: string): FieldProblem => ({ message, field: name, column: null });

function readParam(param: ConditionParam, text: string): ParamValue | FieldProblem {
  if (param.type === 'bool') return text === 'true';
  if (param.type === 'choice') return text;
  if (param.type === 'expression') {
    return text === '' ? wrongField(param.name, words.enterExpression) : text;
  }
  const value = Number(text);
  if (text === '' || Number.isNaN(value)) return wrongField(param.name, words.notANumber(labelOf(param)));
  return value;
}

// Returns the parameters, or the problem of the first field that has one.
export function readParams(
  condition: Condition,
  texts: ParamTexts,
): { params: Record<string, ParamValue>; problem: FieldProblem | null } {
  const params: Record<string, ParamValue> = {};
  for (const param of condition.params) {
    const text = textOf(param, texts).trim();
    if (text === '' && !param.required) continue;
    const value = readParam(param, text);
    if (typeof value === 'object') return { params, problem: value };
    params[param.name] = value;
  }
  const tested = condition.params.filter((param) => param.tested);
  if (tested.length > 0 && !tested.some((param) => param.name in params)) {
    const message = words.enterOneOf(tested.map(labelOf));
    return { params, problem: wrongField(tested[0]?.name ?? '', message) };
  }
  return { params, problem: null };
}

interface FieldProps {
  param: ConditionParam;
  text: string;
  problem: FieldProblem | null;
  measures: readonly Measure[];
  onChange: (text: string) => void;
}

function NumberField({ param, text, problem, onChange }: FieldProps) {
  const id = useId();
  const limits = limitsOf(param);
  return (
    <div className="form-row param-row">
      <span className="param-name">
        <label htmlFor={id} title={param.name}>
          {labelOf(param)}
        </label>
        {limits !== '' && (
          <span className="muted param-limits" id={`${id}-limits`}>
            {limits}
          </span>
        )}
      </span>
      <input
        id={id}
        className="field mono"
        inputMode="decimal"
        placeholder={param.required ? words.numberPlaceholder : words.notTested}
        aria-invalid={problem !== null || undefined}
        aria-describedby={limits === '' ? undefined : `${id}-limits`}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
      {param.unit && <span className="muted">{param.unit === 'percent' ? '%' : param.unit}</span>}
    </div>
  );
}

function BoolField({ param, text, onChange }: FieldProps) {
  const id = useId();
  return (
    <div className="form-row param-row">
      <label htmlFor={id} title={param.name}>
        {param.title}
      </label>
      <input
        id={id}
        type="checkbox"
        checked={text === 'true'}
        onChange={(event) => onChange(String(event.target.checked))}
      />
    </div>
  );
}

function ChoiceField({ param, text, onChange }: FieldProps) {
  const id = useId();
  return (
    <div className="form-row param-row">
      <label htmlFor={id} title={param.name}>
        {param.title}
      </label>
      <select id={id} className="field" value={text} onChange={(event) => onChange(event.target.value)}>
        {param.choices?.map((choice) => (
          <option key={choice} value={choice}>
            {words.choices[choice] ?? choice}
          </option>
        ))}
      </select>
    </div>
  );
}

// Repeats the text in the same font, with a mark below the column.
function ColumnMark({ text, column }: { text: string; column: number }) {
  return (
    <pre className="expression-mark" aria-hidden="true">
      {text}
      {'\n'}
      {' '.repeat(column - 1)}
      <b>^</b>
    </pre>
  );
}

function ExpressionField({ param, text, problem, measures, onChange }: FieldProps) {
  const id = useId();
  const column = problem?.column ?? null;
  return (
    <>
      <input
        id={id}
        className="field mono"
        aria-label={param.title}
        aria-invalid={problem !== null || undefined}
        spellCheck={false}
        autoComplete="off"
        placeholder={words.expressionPlaceholder}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
      {column !== null && <ColumnMark text={text} column={column} />}
      <details className="form-help">
        <summary>{words.namesAndOperators}</summary>
        <p className="mono">
          {'&& || ! < <= > >= == != + - * / ( ) abs() log10() sqrt() min(,) max(,)'}
        </p>
        <dl>
          {measures.map(({ name, title }) => (
            <div key={name}>
              <dt className="mono">{name}</dt>
              <dd className="muted">{title}</dd>
            </div>
          ))}
        </dl>
      </details>
    </>
  );
}

const FIELDS = { number: NumberField, bool: BoolField, choice: ChoiceField, expression: ExpressionField };

interface ParamFieldsProps {
  condition: Condition;
  measures: readonly Measure[];
  texts: ParamTexts;
  problem: FieldProblem | null;
  onChange: (texts: ParamTexts) => void;
}

export function ParamFields({ condition, measures, texts, problem, onChange }: ParamFieldsProps) {
  const field = (param: ConditionParam) => {
    const Field = FIELDS[param.type];
    return (
      <Field
        key={param.name}
        param={param}
        text={textOf(param, texts)}
        problem={problem?.field === param.name ? problem : null}
        measures={measures}
        onChange={(text) => onChange({ ...texts, [param.name]: text })}
      />
    );
  };
  const advanced = condition.params.filter((param) => param.advanced);
  return (
    <>
      {condition.params.filter((param) => !param.advanced).map(field)}
      {advanced.length > 0 && (
        <details className="form-help">
          <summary>{words.advanced}</summary>
          {advanced.map(field)}
        </details>
      )}
    </>
  );
}
