// Text for conditions and measured values, using the titles of the server's condition catalogue.

import { useCallback } from 'react';
import { create } from 'zustand';
import type { Condition, Hit, Incident, ParamValue, WatchLists, WatchpointSpec } from '../api/types';
import { formatNumber, sentence } from '../base/format';
import type { Num } from '../base/numbers';
import * as words from '../words/watch';
import { keepingText } from './keeping';
import { wordsOf } from './narrowing';
import { measuredText, rangeText } from './measured_text';

type Catalogue = ReadonlyMap<string, Condition>;

// Empty until the catalogue is loaded.
const useCatalogue = create<{ byId: Catalogue }>(() => ({ byId: new Map() }));

export function setCatalogue(conditions: readonly Condition[]): void {
  useCatalogue.setState({ byId: new Map(conditions.map((condition) => [condition.id, condition])) });
}

// The tensors that a condition applies to; any tensor until the catalogue is loaded.
export function targetOf(id: string): Condition['target'] {
  return useCatalogue.getState().byId.get(id)?.target ?? 'tensor';
}

// The conditions that a job tests itself, in the catalogue's order.
export function trainingConditions(): string[] {
  const rows = [...useCatalogue.getState().byId.values()];
  return rows.filter(({ target }) => target === 'training').map(({ id }) => id);
}

// " (only addmm, at model.py:32; not aux/)"; empty for a selection by names.
function narrowedText({ op_types, sources, dtypes, ranks, exclude }: Partial<WatchLists>): string {
  const list = (entries: readonly (string | number)[] | undefined) => (entries ?? []).join(', ');
  const only = [
    list(op_types),
    list(dtypes),
    (sources ?? []).length > 0 ? words.atLines(list(sources)) : '',
    (ranks ?? []).length > 0 ? words.onRanks(list(ranks)) : '',
  ].filter((part) => part !== '');
  const left = [...wordsOf(exclude ?? {}), ...(exclude?.categories ?? []).map((each) => words.categoryNames[each])];
  const parts = [
    only.length > 0 ? words.only(only.join(', ')) : '',
    left.length > 0 ? words.except(left.join(', ')) : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`;
}

// Describes the nodes that a watchpoint covers.
export function targetText(watchpoint: Omit<WatchpointSpec, 'pause' | 'enabled'>): string {
  const parts = [
    ...watchpoint.nodes,
    ...watchpoint.scopes.map((scope) => `${scope}/`),
    ...watchpoint.patterns,
    ...(watchpoint.regexes ?? []).map((regex) => `/${regex}/`),
    ...watchpoint.categories.map((category) => words.categoryNames[category]),
  ];
  const names = parts.length === 0 ? words.targetNames[targetOf(watchpoint.condition.id)] : parts.join(', ');
  return names + narrowedText(watchpoint);
}

const RELATIONS: Record<string, string> = { gt: '>', ge: '≥', lt: '<', le: '≤' };

// Splits "abs_max_gt" into the statistic abs_max and the relation ">".
export function splitRelation(name: string): { measure: string; relation: string } | null {
  const [, measure = '', suffix = ''] = /^(.+)_(gt|ge|lt|le)$/.exec(name) ?? [];
  return measure === '' ? null : { measure, relation: RELATIONS[suffix] ?? '' };
}

function formatParam(name: string, value: ParamValue): string {
  const text = formatNumber(value as Num);
  return name.includes('percentage') ? `${text} %` : text;
}

// "mean |x| > 1000", "range from -1", "NaN equals NaN"; null for a parameter that is switched off.
function paramText(condition: Condition | undefined, name: string, value: ParamValue, range: string): string | null {
  const comparison = splitRelation(name);
  const given = condition?.params.find((param) => param.name === name)?.title ?? comparison?.measure ?? name;
  const title = given.replace('|x|', words.symbols[condition?.target ?? 'tensor'] ?? '|x|');
  if (typeof value === 'boolean') return value ? title : null;
  // The default, which needs no mention.
  if (name === 'absorbed') return value === 'stop' ? words.alsoAbsorbed : null;
  if (name === 'propagated') return value === 'stop' ? words.alsoPropagated : null;
  if (name === 'axis') return words.perChannel(String(value));
  const text = formatParam(name, value);
  if (comparison?.measure === 'range_percentage' && range !== '') return `${comparison.relation} ${words.shareOf(text, range)}`;
  return comparison === null ? `${title} ${text}` : `${title} ${comparison.relation} ${text}`;
}

function axisText({ axis }: Readonly<Record<string, ParamValue>>): string {
  return axis === undefined ? '' : `, ${words.perChannel(String(axis))}`;
}

// "abs_max_gt" with 1000 becomes "abs_max > 1000", and an expression stays as it is. Other
// conditions have their title and the tested parameters: "Vanishing gradient (mean |g| < 1e-9)".
export function conditionText(
  id: string,
  params: Readonly<Record<string, ParamValue>>,
  catalogue: Catalogue = useCatalogue.getState().byId,
): string {
  const kept = keepingText({ id, params });
  if (kept !== null) return kept;
  const expression = params['expression'];
  if (id === 'expression' && expression !== undefined) return String(expression) + axisText(params);
  const simple = splitRelation(id);
  const value = params['value'];
  if (simple !== null && value !== undefined) {
    return `${simple.measure} ${simple.relation} ${formatParam(id, value)}${axisText(params)}`;
  }
  const condition = catalogue.get(id);
  const title = condition?.title || id;
  const tested: string[] = [];
  const others: string[] = [];
  const range = rangeText(params);
  for (const [name, given] of Object.entries(params)) {
    if (range !== '' && /^range_(start|end)_inclusive$/.test(name)) continue;
    const text = paramText(condition, name, given, range);
    if (text !== null) (splitRelation(name) === null ? others : tested).push(text);
  }
  const details = [tested.join(words.or), ...others].filter((part) => part !== '').join(', ');
  return details === '' ? title : `${title} (${details})`;
}

// The relation and limit that a measure was compared with: " > 1000".
function limitText({ condition, params }: Hit, measure: string): string {
  const simple = splitRelation(condition);
  if (simple?.measure === measure && params['value'] !== undefined) {
    return ` ${simple.relation} ${formatParam(condition, params['value'])}`;
  }
  const tested = Object.entries(params).filter(([name]) => splitRelation(name)?.measure === measure);
  if (tested.length !== 1) return '';
  const [[name, value]] = tested as [[string, ParamValue]];
  return ` ${splitRelation(name)?.relation} ${formatParam(name, value)}`;
}

// The measured values and their limits: "3 NaN", "abs_max 1240 > 1000"; or what the job has found.
export function actualText(hit: Hit, catalogue: Catalogue = useCatalogue.getState().byId): string {
  if (hit.message !== null) return sentence(hit.message);
  if (targetOf(hit.condition) === 'op') return words.executed;
  const params = catalogue.get(hit.condition)?.params ?? [];
  const entries = Object.entries(hit.actual);
  const counts = entries.filter(([name, value]) => name in words.countNames && value !== 0);
  const others = entries.filter(([name]) => !(name in words.countNames) && !(name in words.contextNames));
  const context = entries.filter(([name]) => name in words.contextNames);
  const measured = ([name, value]: [string, Num]) => {
    const measure = splitRelation(name)?.measure ?? name;
    const text = measuredText(measure, value, hit);
    if (text !== null) return text;
    const known = params.find((param) => param.tested && splitRelation(param.name)?.measure === measure);
    return `${known?.title ?? measure} ${formatParam(name, value)}${limitText(hit, measure)}`;
  };
  return [
    ...counts.map(([name, value]) => `${formatNumber(value)} ${words.countNames[name]}`),
    ...others.map(measured),
    ...context.map(([name, value]) => `${words.contextNames[name]} ${formatNumber(value)}`),
  ].join(', ');
}

// The title without limits, which are shown with the measured values.
export function conditionTitle(id: string, catalogue: Catalogue = useCatalogue.getState().byId): string {
  return catalogue.get(id)?.title || id;
}

type TextOf = (id: string, params: Readonly<Record<string, ParamValue>>) => string;

// The same functions for components, which render again when the catalogue is loaded.
export function incidentTitle({ diagnosis, conditions, origin }: Incident, byId: Catalogue): string {
  const own = origin.params['expression'];
  const titles = conditions.map((id) =>
    id === origin.condition && typeof own === 'string' ? own : conditionTitle(id, byId));
  return diagnosis.title ?? titles.join(', ');
}

export function useConditionText(): {
  conditionText: TextOf;
  conditionTitle: (id: string) => string;
  // What has happened, otherwise the conditions that were met.
  incidentTitle: (incident: Incident) => string;
  actualText: (hit: Hit) => string;
} {
  const byId = useCatalogue((state) => state.byId);
  return {
    conditionText: useCallback<TextOf>((id, params) => conditionText(id, params, byId), [byId]),
    conditionTitle: useCallback((id) => conditionTitle(id, byId), [byId]),
    incidentTitle: useCallback((incident) => incidentTitle(incident, byId), [byId]),
    actualText: useCallback((hit) => actualText(hit, byId), [byId]),
  };
}
